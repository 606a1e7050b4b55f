"""Scenarios in simulated time, one by one and in sweeps, inside this process or on any executor."""

from __future__ import annotations

import json
import os
import re
import shlex
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, as_completed
from pathlib import Path
from typing import Any, Optional, Union

Scenario = Union[str, os.PathLike, Mapping[str, Any]]
"""A scenario: the path of its file, or its tables as a dict, as `tomllib.load` returns them."""


class SimulationError(Exception):
    """The scenario is wrong, or a run of it failed."""


class SweepError(SimulationError):
    """Some runs of a sweep failed; `failures` has each with its error, `sweep` what has finished."""

    def __init__(self, message: str, failures: list[tuple[str, BaseException]], sweep: Sweep) -> None:
        super().__init__(message)
        self.failures = failures
        self.sweep = sweep


def _native() -> Any:
    try:
        from windfall_sap import _native
    except ImportError as error:
        raise ImportError("simulations need the package windfall-sap: pip install ./crates/faces/python in Windfall's folder") from error
    return _native


def _plain(value: Any) -> Any:
    """What JSON cannot say of its own: the path of a file, and numbers of NumPy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item"):
        return value.item()
    raise SimulationError(f"a scenario cannot hold {value!r}")


def _whole(name: str, value: int, least: int, most: int) -> int:
    """A whole number as an argument, if it lies between its bounds."""
    if least <= value <= most:
        return value
    raise SimulationError(f"{name}={value}: use a whole number from {least} to {most}")


def _word(key: str, value: Any) -> str:
    """One value of a key as the command line writes it."""
    if type(value).__name__ in ("bool", "bool_"):  # NumPy's have either name.
        return "on" if value else "off"
    text = str(os.fspath(value) if isinstance(value, os.PathLike) else value)
    if ";" in text:
        raise SimulationError(f"{key}: {text!r} has a semicolon, which stands between values")
    return text


def _listed(key: str, values: Any) -> str:
    """The values of a key as the command line writes them; a text is that already."""
    if isinstance(values, str):
        return values
    if isinstance(values, (bytes, os.PathLike)) or not isinstance(values, Iterable):
        values = [values]
    words = [_word(key, value) for value in values]
    if not words:
        raise SimulationError(f"{key} has no values: give one or more")
    if any("," in word for word in words):
        return "; ".join(words) + ";"
    return ",".join(words)


def _source(scenario: Scenario, folder: Optional[os.PathLike]) -> tuple[str, str, str]:
    """The name, the text and the folder of a scenario."""
    if isinstance(scenario, Mapping):
        try:
            text = _native().scenario_of_json(json.dumps(scenario, default=_plain))
        except (TypeError, ValueError) as error:
            raise SimulationError(f"the dict is no scenario: {error}") from error
        return "", text, str(Path(folder or ".").absolute())
    path = Path(scenario)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SimulationError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SimulationError(f"{path} is no scenario: not text") from error
    return str(path), text, str(Path(folder or path.parent).absolute())


def _refusal(error: Exception, name: str, text: str) -> SimulationError:
    """The error of a scenario; that of a dict names the key, since its lines are nowhere."""
    said = str(error).rstrip()
    place = None if name else re.match(r":(\d+): (.*)", said, re.DOTALL)
    if place:
        line = text.splitlines()[int(place[1]) - 1 : int(place[1])]
        said = ": ".join([*line, place[2]])
    return SimulationError(said)


class Result:
    """The outcome of a run: `summary`, and `series`, each measure at the end of each window."""

    def __init__(self, summary: dict[str, Any], time: list[float], series: dict[str, list[float]]) -> None:
        self.summary = summary
        self.time = time
        self.series = series

    def arrays(self) -> dict[str, Any]:
        """The series as arrays of NumPy, with `time` among them."""
        import numpy

        columns = {"time": self.time, **self.series}
        return {name: numpy.asarray(values) for name, values in columns.items()}

    def frame(self) -> Any:
        """The series as a DataFrame of pandas, indexed by the time in seconds."""
        import pandas

        return pandas.DataFrame(self.series, index=pandas.Index(self.time, name="time"))


def run(
    scenario: Scenario,
    *,
    seed: Optional[int] = None,
    every: Optional[float] = None,
    folder: Optional[os.PathLike] = None,
) -> Result:
    """Simulates a scenario in this process; no file is written.

    `every` is the length in seconds of the windows of the series, which has none without it; the
    files that the scenario names count from `folder`, by default where it lies itself.
    """
    name, text, place = _source(scenario, folder)
    if seed is not None:
        _whole("seed", seed, 0, 2**64 - 1)
    try:
        summary, time, series = _native().simulate(name, text, place, seed, every)
    except (RuntimeError, ValueError) as error:
        raise _refusal(error, name, text) from error
    return Result(json.loads(summary), time, series)


class Sweep:
    """The result of a sweep."""

    def __init__(self, native: Any, charts: list[str]) -> None:
        self._native = native
        self._charts = charts

    def result(self) -> dict[str, Any]:
        """Means and intervals of every measure at every point, as a dict."""
        return json.loads(self._native.to_json())

    def files(self) -> dict[str, str]:
        """The files that `windfall sweep` writes, by name, but for those in Parquet."""
        return dict(self._native.files(self._charts))

    def parquet(self) -> dict[str, bytes]:
        """The files in Parquet, by name: `sweep.parquet` and `runs.parquet`."""
        return {name: bytes(content) for name, content in self._native.parquet()}

    def frame(self) -> Any:
        """A row of pandas for each point and measure: the values, runs, mean, low, high."""
        import io

        import pandas

        return pandas.read_csv(io.StringIO(self.files()["sweep.csv"]), comment="#")


def _measure(text: str, folder: str) -> str:
    """One run, in whichever process the executor has put it."""
    return _native().measures(text, folder)


def sweep(
    scenario: Scenario,
    vary: Mapping[str, Any],
    *,
    seeds: int = 5,
    executor: Optional[Executor] = None,
    out: Optional[os.PathLike] = None,
    charts: Iterable[str] = (),
    folder: Optional[os.PathLike] = None,
) -> Sweep:
    """Runs a scenario over values of its keys and over seeds.

    `vary` has the values of each key, one or a list of them, or a text such as
    "1e-6..1e-3:log7". `executor` does the runs, by default this process, one by one; the result is
    the same. What has finished is kept in `out`, and a sweep that is repeated there does the rest;
    without it, in memory.
    """
    name, text, place = _source(scenario, folder)
    _whole("seeds", seeds, 1, 1_000_000)
    variations = [f"{key}={_listed(key, values)}" for key, values in vary.items()]
    words = " ".join(f"--vary {shlex.quote(variation)}" for variation in variations)
    asked = ["windfall sweep", shlex.quote(name or "-"), words, f"--seeds {seeds}"]
    command = " ".join(filter(None, asked))
    drawn = [charts] if isinstance(charts, str) else list(charts)
    out = None if out is None else os.fspath(out)
    try:
        native = _native().Sweep(name, text, place, variations, seeds, command, out)
    except ValueError as error:
        raise _refusal(error, name, text) from error
    except OSError as error:
        raise SimulationError(f"cannot write {out}: {error}; choose another folder") from error
    try:
        failures = _spread(native, place, executor)
    finally:  # What has finished is kept, whatever ends the rest.
        native.write(drawn)
    result = Sweep(native, drawn)
    for pattern in native.unmatched(drawn):
        warnings.warn(f"charts: no run has a measure {pattern!r}", stacklevel=2)
    if failures:
        all_runs, finished = native.progress()
        kept = f"; {finished} of {all_runs} runs are kept" + (f" in {out}" if out else "")
        run_name, error = failures[0]
        raise SweepError(f"{run_name}: {error or type(error).__name__}{kept}", failures, result)
    return result


def _spread(native: Any, folder: str, executor: Optional[Executor]) -> list[tuple[str, BaseException]]:
    """Does the runs that are missing, keeps each when it ends, and returns those that failed."""
    failures: dict[int, BaseException] = {}

    def take(place: int, measure: Any) -> None:
        try:
            native.keep(place, measure())
        except Exception as error:  # A run that fails ends no other.
            failures[place] = error

    missing = native.missing()
    if executor is None:
        for place, text in missing:
            take(place, lambda: _measure(text, folder))
    else:
        waiting: dict[Any, int] = {}
        for place, text in missing:
            try:
                waiting[executor.submit(_measure, text, folder)] = place
            except Exception as error:  # The executor is broken: a worker has died.
                failures[place] = error
        for future in as_completed(waiting):
            take(waiting[future], future.result)
    return [(native.name_of(place), failures[place]) for place in sorted(failures)]
