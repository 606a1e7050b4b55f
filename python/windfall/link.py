"""A link between two stations, in which real programs run."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Union

Setting = Union[str, int, float, bool]
"""The value of a setting, as text or as a number."""

Option = Union[Setting, Sequence[Setting], None]
"""The value of an option: a list of an option that may stand several times, None to leave it out."""

Arguments = Union[Sequence[Any], str, bytes, "os.PathLike[Any]"]
"""A program and its arguments, the path of a program, or a line for the shell."""

_count = 0


class LinkError(Exception):
    """The program refused what it was asked for, or the link is gone."""


def program() -> str:
    """The `windfall` program: the variable WINDFALL, or what stands on the path."""
    name = os.environ.get("WINDFALL", "windfall")
    # The options `env` and `cwd` of a program in a station choose another path and directory.
    found = shutil.which(name)
    return os.path.abspath(found) if found else name


def _text(value: Setting) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _table(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by their names in a scenario: `rate_trace` is `rate-trace`."""
    return {name.replace("_", "-"): value for name, value in settings.items()}


def _options(settings: Mapping[str, Option], prefix: str = "") -> list[str]:
    """The words of options; a list stands for one given several times, None for none."""
    words = []
    for name, value in _table(settings).items():
        values = value if isinstance(value, (list, tuple)) else [value]
        words += [f"--{prefix}{name}={_text(each)}" for each in values if each is not None]
    return words


_OF_THE_RUN = (
    "log",
    "uplink-log",
    "downlink-log",
    "pcap",
    "series",
    "series-interval",
    "record-errors",
    "max-late",
    "fault",
)
"""Options of the run itself, which stand in no scenario."""

_INSTEAD = {
    "far": "start programs there by link.far.popen",
    "far-output": "link.far.popen takes stdout and stderr",
    "far-may-fail": "look at what link.far.run returns",
    "wait-port": "call link.wait_port",
    "net": "only `windfall run` has it",
    "net-host-loopback": "only `windfall run` has it",
    "as-root": "only `windfall run` has it",
    "scenario": "a link is made of settings alone: run `windfall up FILE`",
    "generate": "call link.scenario()",
    "json": "link.summary has the summary",
    "quiet": "link.summary has the summary",
    "detach": "the link ends with its context",
}
"""Options that make no sense here, and what to do instead."""


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The options that describe the link, and those of its run."""
    of_link, of_run = [], []
    for word in words:
        name = word.removeprefix("--").split("=")[0]
        if name in _INSTEAD:
            raise LinkError(f"a link takes no {name.replace('-', '_')}: {_INSTEAD[name]}")
        (of_run if name in _OF_THE_RUN else of_link).append(word)
    return of_link, of_run


def _start(command: list[str], **options: Any) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(command, text=True, **options)
    except OSError as error:
        raise LinkError(
            f"cannot run {command[0]}: {error.strerror}: put windfall on the path, or its place "
            "into the variable WINDFALL"
        ) from error


def _require(args: Sequence[Any], cwd: Any, env: Mapping[Any, Any] | None) -> None:
    """Raises what `subprocess` raises if there is no such program, or it may not be run."""
    given = list(args)[0]
    name = os.fsencode(given)
    number = 0
    if os.path.dirname(name):
        number = _obstacle(os.path.join(os.fsencode(cwd or ""), name), cwd)
    elif not name:
        # It is looked for on the path, and each folder is one.
        number = errno.EACCES
    else:
        path = os.pathsep.join(os.fsdecode(folder) for folder in os.get_exec_path(env))
        found = shutil.which(os.fsdecode(name), path=path)
        is_there = found or shutil.which(os.fsdecode(name), mode=os.F_OK, path=path)
        number = _obstacle(os.fsencode(is_there), cwd) if is_there else errno.ENOENT
    if number:
        # The constructor makes it a FileNotFoundError or a PermissionError.
        raise OSError(number, os.strerror(number), given)


def _obstacle(place: bytes, cwd: Any) -> int:
    """Returns why the kernel does not run this file, as an error number; 0 if it does."""
    if not os.path.exists(place):
        return errno.ENOENT
    if not os.path.isfile(place) or not os.access(place, os.X_OK):
        return errno.EACCES
    try:
        with open(place, "rb") as file:
            first = file.read(256).split(b"\n")[0]
    except OSError:
        # What may be run need not be readable.
        return 0
    words = first[2:].split() if first.startswith(b"#!") else []
    if not words:
        return 0
    interpreter = os.path.join(os.fsencode(cwd or ""), words[0])
    if not os.path.exists(interpreter):
        return errno.ENOENT
    may_run = os.path.isfile(interpreter) and os.access(interpreter, os.X_OK)
    return 0 if may_run else errno.EACCES


def _lines_of(env: Mapping[Any, Any]) -> bytes:
    """An environment as `/proc` shows those of processes."""
    lines = b""
    for name, value in env.items():
        name, value = os.fsencode(name), os.fsencode(value)
        if b"=" in name:
            raise ValueError("illegal environment variable name")
        if b"\0" in name + value:
            raise ValueError("embedded null byte")
        lines += name + b"=" + value + b"\0"
    return lines


def _require_port(port: int) -> None:
    if not isinstance(port, int) or not 0 < port < 65536:
        raise LinkError(f"{port!r} is no port: give a number from 1 to 65535")


def _end_of(process: subprocess.Popen[Any]) -> str:
    """How a program ended, with its command line."""
    args, status = process.args, process.returncode
    if isinstance(args, (str, bytes, os.PathLike)):
        line = os.fsdecode(args)
    else:
        line = shlex.join(os.fsdecode(word) for word in args)
    if status < 0:
        return f"`{line}` was ended by {signal.Signals(-status).name}"
    return f"`{line}` ended with {status}"


_ENDED_BY_OTHERS = {-number for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)}
_ENDED_BY_OTHERS |= {128 - number for number in _ENDED_BY_OTHERS}
"""The exit statuses of programs that were told to end."""


_LOOK = """
cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null
here=$(readlink /proc/self/ns/net)
for it in /proc/[0-9]*; do
  case $it in /proc/1 | /proc/$$) continue ;; esac
  there=$(readlink $it/ns/net 2>/dev/null)
  grep -q '^State:.*[ZX]' $it/status 2>/dev/null && continue
  if [ -d $it ] && [ "${there:-$here}" = "$here" ]; then echo runs; fi
done
true
"""
"""Lists the sockets of a station, and says for each program in it that it runs."""


class Station:
    """One end of a link. Programs in it see nothing of the network but the link."""

    def __init__(self, link: Link, name: str) -> None:
        self._link = link
        self.name = name
        self._programs: list[subprocess.Popen[Any]] = []

    @property
    def address(self) -> str:
        """Its IPv4 address."""
        stations = self._link.status()["stations"]
        return next(it["addresses"][0] for it in stations if it["name"] == self.name)

    def command(self, args: Arguments) -> list[Any]:
        """The command line that runs a program here; text is a line for the shell."""
        if isinstance(args, (str, bytes)):
            words: list[Any] = ["/bin/sh", "-c", args]
        else:
            words = [args] if isinstance(args, os.PathLike) else list(args)
        return [program(), "exec", "--run", self._link.name, self.name, "--", *words]

    @contextlib.contextmanager
    def _prepared(self, args: Arguments, options: dict[str, Any]) -> Iterator[list[Any]]:
        """The command line of a program here, while it is started.

        Takes what is for the program alone out of the options of `subprocess`.
        """
        if self._link._run is None:
            raise LinkError("the link is not up: enter it by `with`")
        for name in ("user", "group", "extra_groups"):
            if options.get(name) is not None:
                # The helper that enters the station would have other rights than the link.
                raise ValueError(
                    f"{name}={options[name]!r}: programs of a link have its rights; enter the "
                    "link as that user"
                )
        executable = options.pop("executable", None)
        if isinstance(args, os.PathLike):
            if options.get("shell"):
                raise TypeError("path-like args is not allowed when shell is true")
            args = [args]
        if options.pop("shell", False) or isinstance(args, (str, bytes)):
            # As subprocess has it: what follows the line are the parameters of the shell.
            line = [args] if isinstance(args, (str, bytes)) else list(args)
            args = [executable or "/bin/sh", "-c", *line]
        elif executable is not None:
            # The program sees its own name in place of the first argument.
            args = [executable, *list(args)[1:]]
        env = options.pop("env", None)
        _require(args, options.get("cwd"), env)
        command = self.command(args)
        if env is None:
            yield command
            return
        # The helper finds the link by its own environment.
        with tempfile.TemporaryFile() as file:
            file.write(_lines_of(env))
            file.seek(0)
            number = file.fileno()
            command[2:2] = ["--environment", str(number)]
            if options.get("close_fds", True):
                options["pass_fds"] = (*options.get("pass_fds", ()), number)
            else:
                os.set_inheritable(number, True)
            yield command

    def popen(self, args: Arguments, **options: Any) -> subprocess.Popen[Any]:
        """Starts a program here; takes the options of `subprocess.Popen`, and raises as it does.

        It runs as the user of the link: `user`, `group` and `extra_groups` are refused.
        It gets the signals that are sent to it, and ends with the link at the latest.
        """
        with self._prepared(args, options) as command:
            process = subprocess.Popen(command, **options)
        process.args = args
        self._programs.append(process)
        return process

    def run(self, args: Arguments, **options: Any) -> subprocess.CompletedProcess[Any]:
        """Runs a program here until it ends; takes the options of `subprocess.run`."""
        with self._prepared(args, options) as command:
            try:
                done = subprocess.run(command, **options)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                error.cmd = args
                raise
        done.args = args
        return done

    def listens_on(self, port: int) -> bool:
        """Tells whether a program here listens on this port of TCP, or has it of UDP."""
        return self._look(port)[0]

    def _look(self, port: int) -> tuple[bool, bool]:
        """Tells whether a program here listens on this port, and whether any program runs here."""
        _require_port(port)
        listed = self.run(_LOOK, capture_output=True, text=True)
        if listed.returncode != 0:
            raise LinkError(listed.stderr.strip().removeprefix("windfall: "))
        listens, runs = False, False
        for row in (line.split() for line in listed.stdout.splitlines()):
            runs |= row[:1] == ["runs"]
            # 0A is LISTEN of TCP, 07 an unconnected socket of UDP.
            if len(row) > 3 and row[1].endswith(f":{port:04X}") and row[3] in ("0A", "07"):
                listens = True
        return listens, runs

    def _failed(self) -> str | None:
        """How a program here ended by itself since the last look, if one failed."""
        # Those whose end the caller has seen are no news.
        unseen = [it for it in self._programs if it.returncode is None]
        for process in unseen:
            if process.poll() not in {None, 0} | _ENDED_BY_OTHERS:
                return _end_of(process)
        return None

    def _is_done(self) -> str | None:
        """Says how the last program ended, if nothing that `popen` has started here runs."""
        if not self._programs or any(it.returncode is None for it in self._programs):
            return None
        return f"{_end_of(self._programs[-1])}, and no other program runs there"


class Link:
    """A link between the stations `near` and `far`, from entering to leaving the context.

    Settings are those of `windfall run`, with `_` for `-`; `uplink` and `downlink` are those of
    one direction, by name.

        with Link(rate="2Mbps", ber=1e-5, uplink={"loss": "1%"}) as link:
            server = link.far.popen(["python3", "-m", "http.server", "8000"])
            link.wait_port(8000)
            link.near.run(["curl", f"http://{link.far.address}:8000/"], check=True)
            link.set(rate="100kbps")
    """

    def __init__(
        self,
        *,
        uplink: Mapping[str, Option] | None = None,
        downlink: Mapping[str, Option] | None = None,
        name: str | None = None,
        options: Sequence[str] = (),
        summary: str | os.PathLike[str] | None = None,
        **settings: Option,
    ) -> None:
        global _count
        _count += 1
        self.name = name or f"python-{os.getpid()}-{_count}"
        self.near = Station(self, "near")
        self.far = Station(self, "far")
        self.summary: dict[str, Any] | None = None
        """The summary of the run, once it has ended."""
        words = _options(settings)
        words += _options(uplink or {}, "uplink-") + _options(downlink or {}, "downlink-")
        self._words, self._beside = _split(words)
        self._beside += options
        self._summary_file = summary
        self._run: subprocess.Popen[str] | None = None
        self._address = ""
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Link:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.end()
        except LinkError as failure:
            # What the body has raised says more.
            if error is None:
                raise
            error.add_note(f"the link: {failure}")

    def start(self) -> Link:
        """Brings the link up, until `end`; returns the link."""
        if self._run is not None:
            raise LinkError("the link is up already")
        made = _start(
            [program(), "run", "--generate", *self._words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        scenario, errors = made.communicate()
        if made.returncode != 0:
            raise LinkError(errors.strip().removeprefix("windfall: "))
        # The run ends when this pipe does, at the latest with this process, however that ends.
        theirs, self._lifeline = os.pipe()
        words = ["up", "-", "-q", "--json", "--name", self.name, "--lifeline", str(theirs)]
        try:
            run = _start(
                [program(), *words, *self._beside],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(theirs,),
            )
        except LinkError:
            os.close(self._lifeline)
            raise
        finally:
            os.close(theirs)
        self._run = run
        assert run.stdin is not None
        try:
            run.stdin.write(scenario)
            run.stdin.close()
        except BrokenPipeError:
            pass
        run.stdin = None
        deadline = time.monotonic() + 30
        while (address := self._look()) is None:
            if run.poll() is not None or time.monotonic() > deadline:
                self._run = None
                os.close(self._lifeline)
                late = run.poll() is None
                run.kill()
                _, errors = run.communicate()
                said = errors.strip().removeprefix("windfall: ")
                raise LinkError("the link did not come up in 30 s" if late else said)
            time.sleep(0.01)
        self._address = address
        return self

    def _look(self) -> str | None:
        """Where the run listens, once it does."""
        assert self._run is not None
        listed = _start(
            [program(), "ls", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        for line in listed.communicate()[0].splitlines():
            row = json.loads(line)
            if row["name"] == self.name and row["pid"] == self._run.pid:
                return str(row["socket"])
        return None

    def end(self) -> dict[str, Any] | None:
        """Ends the link and every program in it; returns the summary of the run."""
        if self._run is None:
            return self.summary
        run, error = self._run, None
        try:
            self.ask({"do": "end"})
        except LinkError as failure:
            error = failure
            run.terminate()
        text, errors = run.communicate()
        self._run = None
        os.close(self._lifeline)
        self._disconnect()
        for process in self.near._programs + self.far._programs:
            process.wait()
        if text:
            self.summary = json.loads(text)
            if self._summary_file is not None:
                with open(self._summary_file, "w", encoding="utf-8") as file:
                    file.write(text)
        if run.returncode != 0:
            said = errors.strip().removeprefix("windfall: ")
            raise LinkError(said or f"the run ended with {run.returncode}") from error
        if errors:
            print(errors, end="", file=sys.stderr)
        return self.summary

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Sends a request of the control socket, and returns the reply.

        Threads take turns. A request that is not answered within 30 s is withdrawn.
        """
        if self._run is None:
            raise LinkError("the link is not up: enter it by `with`")
        with self._lock:
            try:
                line = self._exchange(json.dumps(request) + "\n")
            except TimeoutError as error:
                self._disconnect()
                raise LinkError("nothing within 30 s; what the run was asked is withdrawn") from error
            except OSError as error:
                self._disconnect()
                raise LinkError("the run has ended") from error
            if not line:
                self._disconnect()
                raise LinkError("the run has ended")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise LinkError(reply["error"])
        return reply

    def _exchange(self, line: str) -> str:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.settimeout(30)
            address = self._address
            self._socket.connect("\0" + address[1:] if address.startswith("@") else address)
            self._replies = self._socket.makefile("r")
        self._socket.sendall(line.encode())
        return self._replies.readline()

    def _disconnect(self) -> None:
        if self._socket is not None:
            if hasattr(self, "_replies"):
                self._replies.close()
            self._socket.close()
            self._socket = None

    def set(
        self,
        *,
        uplink: Mapping[str, Setting] | None = None,
        downlink: Mapping[str, Setting] | None = None,
        over: str | None = None,
        **settings: Setting,
    ) -> float:
        """Changes the link now, whole or not at all; returns the time, in seconds of the run.

        `over` moves rate and delay gradually.
        """
        change: dict[str, Any] = {
            name: _text(value) for name, value in _table(settings).items()
        }
        for side, own in (("uplink", uplink), ("downlink", downlink)):
            if own:
                change[side] = {name: _text(value) for name, value in _table(own).items()}
        if over is not None:
            change["over"] = over
        return float(self.ask({"do": "set", "change": change})["at"])

    def fault(self, fault: str) -> None:
        """Sets the faults of the connections to a port: `far:80 reset 1s`; `far:80 none` clears."""
        self.ask({"do": "fault", "fault": fault})

    def status(self) -> dict[str, Any]:
        """How the link fares: settings, counts, rates and delays of each direction."""
        return self.ask({"do": "status"})

    def scenario(self) -> str:
        """The scenario with the changes so far, which repeats the run."""
        return str(self.ask({"do": "scenario"})["scenario"])

    def samples(self, since: float = 0) -> list[dict[str, Any]]:
        """The windows of 250 ms that ended after a time."""
        return list(self.ask({"do": "samples", "since": since})["samples"])

    def wait_port(self, port: int, station: Station | None = None, timeout: float = 30) -> None:
        """Waits until a program listens on this port, at the far end if no other is named.

        Raises if none does in time. Raises at once if a program that `popen` has started there
        fails meanwhile, or if all of them have ended in any way and nothing runs there.
        """
        station = station or self.far
        deadline = time.monotonic() + timeout
        while True:
            # Before the look: whatever it left in the background runs by then.
            done = station._is_done()
            listens, runs = station._look(port)
            if listens:
                return
            failed = station._failed() or (None if runs else done)
            if failed is not None:
                raise LinkError(f"nothing listens on port {port} of {station.name}: {failed}")
            if time.monotonic() > deadline:
                raise LinkError(f"nothing listens on port {port} of {station.name} in {timeout} s")
            time.sleep(0.02)
