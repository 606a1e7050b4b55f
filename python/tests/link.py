"""A link from Python: programs at both ends, changes, ports, counters, errors."""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from windfall import Link, LinkError

with Link(rate="20Mbps", delay="1ms", uplink={"queue": 500}) as link:
    server = link.far.popen(
        [sys.executable, "-m", "http.server", "8000"], stdout=-3, stderr=-3, cwd="/"
    )
    link.wait_port(8000)
    assert link.far.listens_on(8000) and not link.near.listens_on(8000)
    fetch = "import os, urllib.request as r; r.urlopen('http://far:8000/').read(); print('got')"
    got = link.near.run([sys.executable, "-c", fetch], capture_output=True, text=True)
    assert got.stdout == "got\n", got
    status = link.status()
    up, down = status["links"]
    assert (up["name"], up["direction"]) == ("near-far/near", "uplink")
    assert up["delivered"] > 4 and down["delivered"] > 4
    assert up["settings"]["rate"] == "20Mbps" and up["settings"]["queue"] == "500"
    at = link.set(loss="100%", uplink={"rate": "1Mbps"})
    assert 0 < at < 60
    lost = link.near.run(f"ping -c 1 -W 1 {link.far.address}", stdout=-3)
    assert lost.returncode == 1
    up, down = link.status()["links"]
    assert up["dropped"]["lost"] >= 1
    assert up["settings"]["rate"] == "1Mbps" and down["settings"]["rate"] == "20Mbps"
    assert "[[change]]" in link.scenario()
    for wrong, said in (({"rate": "fast"}, "rate=fast"), ({"rte": "1"}, "did you mean rate?")):
        try:
            link.set(**wrong)
            raise AssertionError(wrong)
        except LinkError as error:
            assert said in str(error), error
assert server.poll() is not None

# What is missing or may not be run is told as by subprocess, and a server that fails is not awaited.
with Link(delay="1ms") as link, tempfile.TemporaryDirectory() as folder:
    closed = os.path.join(folder, "closed")
    open(closed, "w").close()
    for start in (link.near.run, link.far.popen):
        for args, kind, options in (
            (["no-such-program"], FileNotFoundError, {}),
            ([os.path.join(folder, "nothing")], FileNotFoundError, {}),
            ([closed], PermissionError, {}),
            (["./closed"], PermissionError, {"cwd": folder}),
            (["sh", "-c", "true"], FileNotFoundError, {"env": {"PATH": folder}}),
        ):
            try:
                start(args, **options)
                raise AssertionError((args, options))
            except kind as error:
                assert args[0] in str(error), error
    assert link.near.run("no-such-program", stderr=-3).returncode == 127
    # The options of subprocess mean what they mean there, but for the first argument of a program
    # that `executable` names.
    for args, options, said in (
        ("echo $((1 + 1))", {"shell": True}, "2\n"),
        (["echo $0-$1", "a", "b"], {"shell": True}, "a-b\n"),
        (["x", "-c", "echo b"], {"executable": "/bin/sh"}, "b\n"),
        ("echo $0", {"executable": "/bin/bash"}, "/bin/bash\n"),
        ("echo $A", {"env": {"A": "b", "PATH": "/usr/bin:/bin"}}, "b\n"),
        (["pwd"], {"cwd": "/"}, "/\n"),
    ):
        got = link.far.run(args, capture_output=True, text=True, **options)
        assert (got.stdout, got.returncode) == (said, 0), (args, got)
    # One that a signal ends has its negative number, and what asks for success raises.
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1):
        assert link.near.run(f"kill -{number.value} $$").returncode == -number
    assert link.near.run("exit 137").returncode == 137
    try:
        link.near.run(["sh", "-c", "kill -9 $$"], check=True)
        raise AssertionError("it was killed")
    except subprocess.CalledProcessError as error:
        assert error.returncode == -9, error
    link.far.popen("kill -11 $$")
    try:
        link.wait_port(8000)
        raise AssertionError("it is dead")
    except LinkError as error:
        assert "`kill -11 $$` was ended by SIGSEGV" in str(error), error
    for line, said in (("exit 3", "`exit 3` ended with 3"), ("no-such-server 80", "ended with 127")):
        link.far.popen(line, stderr=-3)
        began = time.monotonic()
        try:
            link.wait_port(8000)
            raise AssertionError(line)
        except LinkError as error:
            assert said in str(error), error
        assert time.monotonic() - began < 15
    # What subprocess makes of odd arguments, the stations make of them too.
    with open(os.path.join(folder, "lost"), "w") as script:
        script.write("#!/no/such/interpreter -x\n")
    with open(os.path.join(folder, "mute"), "w") as script:
        script.write(f"#! {folder}\n")
    for name in ("lost", "mute"):
        os.chmod(os.path.join(folder, name), 0o755)
    os.mkdir(os.path.join(folder, "folder"))
    for args in ([], (), [""], ["./folder"], ["./lost"], ["./mute"], [os.path.join(folder, "lost")]):
        raised = []
        for start in (subprocess.run, link.near.run, link.near.popen):
            try:
                start(args, cwd=folder)
                raise AssertionError(args)
            except (OSError, LookupError, ValueError) as error:
                raised.append((type(error), str(error)))
        assert len(set(raised)) == 1, raised
    for env in ({"PATH": folder, "A=B": "c"}, {"PATH": "/bin", "A": "b\0c"}):
        try:
            link.near.run(["/bin/true"], env=env)
            raise AssertionError(env)
        except ValueError:
            pass
    for other in ({"user": 65534}, {"group": 1}, {"extra_groups": []}):
        try:
            link.near.popen(["/bin/true"], **other)
            raise AssertionError(other)
        except ValueError as error:
            assert "enter the link as that user" in str(error), error
    got = link.near.run(pathlib.Path("/bin/echo"), capture_output=True)
    assert (got.args, got.stdout) == (pathlib.Path("/bin/echo"), b"\n"), got
    assert link.near.run([pathlib.Path("/bin/echo"), b"a"], capture_output=True).stdout == b"a\n"
    for args in (["sh", "-c", "exit 3"], "exit 3"):
        try:
            link.near.run(args, check=True)
            raise AssertionError(args)
        except subprocess.CalledProcessError as error:
            assert error.cmd == args, error
    sleeper = ["sleep", "60"]
    for wait in (
        lambda: link.near.run(sleeper, timeout=0.3),
        lambda: link.near.popen(sleeper).wait(0.3),
    ):
        try:
            wait()
            raise AssertionError("it sleeps")
        except subprocess.TimeoutExpired as error:
            assert error.cmd == sleeper, error
    # The environment is the program's alone; what finds the link keeps its own.
    for env in ({}, {"A": "b", "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": "/nowhere"}):
        got = link.near.run(["env"], env=env, capture_output=True, text=True)
        lines = dict(line.split("=", 1) for line in got.stdout.splitlines())
        assert got.returncode == 0 and lines.pop("WINDFALL_STATION") == "near", got
        lines = {name: it for name, it in lines.items() if not name.startswith("WINDFALL_")}
        assert lines == env, (lines, env)
    assert link.near.run("test $A = b", env={"A": "b"}, close_fds=False).returncode == 0
    # A program gets each signal that is sent to it or to its group, and gets it once.
    count = (
        "import signal, sys, time\n"
        "for it in sys.argv[1:]: signal.signal(int(it), lambda *_: print('got', flush=True))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)\n"
    )
    sent = [
        signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2
    ]
    words = [sys.executable, "-c", count, *(str(int(it)) for it in sent)]
    for send in (os.kill, os.killpg):
        counter = link.near.popen(words, stdout=subprocess.PIPE, start_new_session=True)
        assert counter.stdout.readline() == b"ready\n"
        for number in sent:
            send(counter.pid, number)
            time.sleep(0.3)
        send(counter.pid, signal.SIGKILL)
        assert counter.stdout.read() == b"got\n" * len(sent), send
        assert counter.wait() == -signal.SIGKILL
    for number in sent:
        sleeping = link.near.popen(["sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE)
        sleeping.stdout.readline()
        sleeping.send_signal(number)
        assert sleeping.wait(20) == -number
    stopped = link.near.popen(["sh", "-c", "kill -STOP $$; exit 4"])
    while (status := stopped.poll()) is None:
        stopped.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    assert status == 4
    for port in (0, -1, 65536, "80", 1.5):
        try:
            link.wait_port(port)
            raise AssertionError(port)
        except LinkError as error:
            assert "1 to 65535" in str(error), error
    # One that ends in order, and leaves none in the background, is not awaited either.
    for line in ("exit 0", "(sleep 0.4) & exit 0", "setsid sleep 0.4 & exit 0", "true; sleep 0.3"):
        link.far.popen(line)
        began = time.monotonic()
        try:
            link.wait_port(8000)
            raise AssertionError(line)
        except LinkError as error:
            assert f"`{line}` ended with 0, and no other program runs there" in str(error), error
        assert time.monotonic() - began < 15
    # However a server was ended, nothing is awaited once nothing runs.
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        link.far.popen(f"sleep 0.2; kill -{number.value} $$")
        began = time.monotonic()
        try:
            link.wait_port(8000)
            raise AssertionError(number)
        except LinkError as error:
            said = f"was ended by {number.name}, and no other program runs there"
            assert said in str(error), error
        assert time.monotonic() - began < 15
    ended = link.far.popen(["sleep", "60"])
    ended.kill()
    assert ended.wait() == -signal.SIGKILL
    try:
        link.wait_port(8000)
        raise AssertionError("nothing runs there")
    except LinkError as error:
        assert "`sleep 60` was ended by SIGKILL, and no other" in str(error), error
    # A server that was told to end, one that goes into the background, and one seen to fail are none.
    link.far.popen(["sleep", "60"]).terminate()
    assert link.far.popen("exit 4").wait() == 4
    serve = "exec %s -m http.server 8000 --directory /etc >/dev/null 2>&1" % sys.executable
    link.far.popen(f"(sleep 0.3; {serve}) & exit 0")
    link.wait_port(8000)
assert link.summary["links"][0]["balances"] and link.summary["lateness"] is not None
try:
    Link(rate="fast").start()
    raise AssertionError("it has no such rate")
except LinkError as error:
    assert "rate" in str(error), error
try:
    link.status()
    raise AssertionError("it is down")
except LinkError as error:
    assert "not up" in str(error)

# Without a context; options that stand several times are lists, and None leaves one out.
link = Link(change=["1h: loss 1%", "2h: loss 2%"], fault=["far:80 down", "far:81 down"], loss=None)
assert link.start() is link
assert len(link.status()["faults"]) == 2
assert link.scenario().count("[[change]]") == 2
assert link.end()["links"][0]["balances"]

# What a run writes is written, and what a link cannot do is refused.
with tempfile.TemporaryDirectory() as folder:
    log, series, summary = (os.path.join(folder, name) for name in ("log", "series.csv", "sum"))
    with Link(delay="1ms", log=log, series=series, summary=summary, max_late="10s:0") as link:
        link.near.run(f"ping -c 1 {link.far.address}", stdout=-3, check=True)
    assert open(log).read().count('"ev":') > 2
    assert open(series).read().count("\n") > 1
    assert json.load(open(summary)) == link.summary
for name, said in (("far", "link.far.popen"), ("wait_port", "link.wait_port"), ("net", "only")):
    try:
        Link(**{name: "x"})
        raise AssertionError(name)
    except LinkError as error:
        assert name in str(error) and said in str(error), error

# A link outlives the thread that made it.
made = []
thread = threading.Thread(target=lambda: (made.append(Link(delay="1ms")), made[0].start()))
thread.start()
thread.join()
time.sleep(0.3)
link = made[0]
# Each of many threads gets its own replies.
def check(number):
    for _ in range(50):
        if number % 2:
            assert "stations" in link.status()
        else:
            assert "[[link]]" in link.scenario()
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(check, range(8)))
# A run that was killed is told as such, by every call.
os.kill(link.status()["pid"], signal.SIGKILL)
for call in (link.status, link.scenario, lambda: link.set(loss="1%"), link.end):
    try:
        call()
        raise AssertionError("it is dead")
    except LinkError as error:
        assert str(error), call
# The exception of the body comes through.
try:
    with Link(delay="1ms") as link:
        os.kill(link.status()["pid"], signal.SIGKILL)
        raise KeyError("of the body")
except KeyError as error:
    assert "the link: " in error.__notes__[0], error.__notes__
# Before its context and after it there are no stations.
for late in (Link(delay="1ms"), link):
    for start in (late.near.run, late.far.popen):
        try:
            start(["true"])
            raise AssertionError("no link is up")
        except LinkError as error:
            assert "not up" in str(error), error
# A disturbed run fails, and its summary is there.
link = Link(delay="1ms", max_late="0ms:0")
try:
    with link:
        link.near.run(f"ping -c 1 {link.far.address}", stdout=-3, check=True)
    raise AssertionError("no packet takes no time")
except LinkError as error:
    assert "--max-late" in str(error), error
assert link.summary["links"][0]["delivered"] == 1
# A run ends with the process that made it, however that ends.
program = "import os, windfall; l = windfall.Link(name='orphan'); l.start(); os._exit(0)"
subprocess.run([sys.executable, "-c", program], check=True)
windfall = os.environ.get("WINDFALL", "windfall")
deadline = time.monotonic() + 30
while "orphan" in subprocess.run([windfall, "ls"], capture_output=True, text=True).stdout:
    assert time.monotonic() < deadline
    time.sleep(0.02)
print("linked")
