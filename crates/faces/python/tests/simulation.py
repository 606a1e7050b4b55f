"""Scenarios and sweeps in this process and on executors, of which a worker dies."""

import json
import math
import os
import signal
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import windfall

SCENARIO = {
    "format": 1,
    "seed": 3,
    "duration": "2s",
    "station": [{"name": "near"}, {"name": "far"}],
    "link": [
        {"name": "air", "stations": ["near", "far"], "rate": "2Mbps", "delay": "5ms", "ber": 1e-5}
    ],
    "app": [{"kind": "cbr", "station": "near", "to": "far", "rate": "500kbps", "size": 500}],
}
VARY = {"link.ber": [1e-6, 1e-5, 1e-4], "link.rate": "1Mbps,2Mbps"}


def refused(text, call):
    try:
        call()
    except windfall.SimulationError as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"not refused: {text}")


def runs():
    """A run has a summary, a series that ends with it, and the same again for the same seed."""
    result = windfall.run(SCENARIO, every=0.25)
    assert result.time == [0.25 * number for number in range(1, 9)], result.time
    near = result.series["links.air/near.delivered"]
    assert len(near) == 8 and near == sorted(near) and near[0] < near[-1], near
    assert result.summary["links"][0]["delivered"] == near[-1], result.summary["links"]
    again = windfall.run(SCENARIO, every=0.25)
    assert again.summary == result.summary
    assert str(again.series) == str(result.series)
    other = windfall.run(SCENARIO, seed=4)
    assert other.time == [] and other.series == {}
    assert other.summary["links"][0]["dropped"] != result.summary["links"][0]["dropped"]
    # Windows do not change what happens, and the last of them is shorter.
    odd = windfall.run(SCENARIO, every=0.7)
    assert [round(it, 9) for it in odd.time] == [0.7, 1.4, 2.0], odd.time
    assert odd.summary == result.summary

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scenario.json")
        file.write_text(json.dumps(SCENARIO))
        refused("expected", lambda: windfall.run(file))
        file = Path(folder, "scenario.toml")
        file.write_text('format = 1\nduration = "1s"\n[[station]]\nname = "near"\n')
        assert windfall.run(file).summary["links"] == []
        refused("cannot read", lambda: windfall.run(Path(folder, "absent.toml")))
    refused("ber = 2: \"2\" is not a probability", lambda: windfall.run({**SCENARIO, "link": [{**SCENARIO["link"][0], "ber": 2}]}))
    refused("no scenario", lambda: windfall.run({**SCENARIO, "seed": None}))
    refused("every=0", lambda: windfall.run(SCENARIO, every=0))
    refused("every=NaN", lambda: windfall.run(SCENARIO, every=math.nan))
    refused("seed=-1: use a whole number from 0", lambda: windfall.run(SCENARIO, seed=-1))
    refused("seed=18446744073709551616", lambda: windfall.run(SCENARIO, seed=2**64))
    refused("format", lambda: windfall.run({}))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "bytes.toml")
        file.write_bytes(b"\xff\xfe")
        refused("bytes.toml is no scenario: not text", lambda: windfall.run(file))
    return result


def variations():
    """The values of a list stay whole, and are written as a scenario takes them."""
    values = {
        "tcp": ["new-reno, mss=500", "sack"],
        "station.near.tcp.mss": 700,
        "link.accept-damaged": [True, False],
    }
    sweep = windfall.sweep(SCENARIO, values, seeds=1)
    points = [tuple(map(point["values"].get, values)) for point in sweep.result()["points"]]
    tcp = ["new-reno, mss=500", "sack"]
    assert points == [(it, "700", damaged) for it in tcp for damaged in ["on", "off"]], points
    alone = windfall.sweep(SCENARIO, {"tcp": ["new-reno, mss=500"]}, seeds=1, charts="*delivered")
    assert alone.result()["points"][0]["values"] == {"tcp": "new-reno, mss=500"}
    assert "--vary 'tcp=new-reno, mss=500;' --seeds 1" in alone.result()["command"]
    assert any(name.endswith("delivered.svg") for name in alone.files()), alone.files().keys()
    refused("seeds=0: use a whole number from 1", lambda: windfall.sweep(SCENARIO, VARY, seeds=0))
    refused("seeds=-1", lambda: windfall.sweep(SCENARIO, VARY, seeds=-1))
    refused("link.ber has no values", lambda: windfall.sweep(SCENARIO, {"link.ber": []}))
    refused("has a semicolon", lambda: windfall.sweep(SCENARIO, {"tcp": ["sack; cubic"]}))
    refused("tcp.mss has no effect: tcp, which is set after it", lambda: windfall.sweep(
        SCENARIO, {"tcp.mss": [500, 900], "tcp": ["sack", "cubic"]}))
    refused("cannot write /dev/null/out", lambda: windfall.sweep(SCENARIO, VARY, out="/dev/null/out"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        windfall.sweep(SCENARIO, {}, seeds=1, charts=["*.absent"])
    assert "no run has a measure '*.absent'" in str(caught[0].message), caught


class Mortal(ProcessPoolExecutor):
    """Workers of which one is killed by what it is given as its fifth task."""

    count = 0

    def submit(self, work, *arguments):
        self.count += 1
        if self.count == 5:
            return super().submit(kill)
        return super().submit(work, *arguments)


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def sweeps():
    """Whatever does the runs, the files are the same, byte for byte."""
    serial = windfall.sweep(SCENARIO, VARY, seeds=3)
    assert set(serial.files()) >= {"sweep.csv", "sweep-wide.csv", "runs.csv", "sweep.json"}
    assert serial.result()["finished"] == serial.result()["runs"] == 18
    for point in serial.result()["points"]:
        values = {key.removeprefix("link."): value for key, value in point["values"].items()}
        scenario = {**SCENARIO, "link": [{**SCENARIO["link"][0], **values}]}
        single = [windfall.run(scenario, seed=3 + number).summary for number in range(3)]
        mean = sum(summary["links"][0]["delivered"] for summary in single) / 3
        assert math.isclose(point["measures"]["links.air/near.delivered"]["mean"], mean), values
    with ThreadPoolExecutor(2) as executor:
        assert windfall.sweep(SCENARIO, VARY, seeds=3, executor=executor).files() == serial.files()
    with ProcessPoolExecutor(2) as executor:
        assert windfall.sweep(SCENARIO, VARY, seeds=3, executor=executor).files() == serial.files()

    with tempfile.TemporaryDirectory() as folder:
        try:
            with Mortal(2) as executor:
                windfall.sweep(SCENARIO, VARY, seeds=3, executor=executor, out=folder)
        except windfall.SweepError as error:
            kept = Path(folder, "runs.jsonl").read_text().count("\n") - 1
            assert 0 < len(error.failures) and kept == 18 - len(error.failures), (kept, str(error))
            assert f"{kept} of 18 runs are kept in {folder}" in str(error), error
            assert error.sweep.result()["finished"] == kept
            del error
        else:
            raise AssertionError("a worker was killed, without an error")
        with ProcessPoolExecutor(2) as executor:
            whole = windfall.sweep(SCENARIO, VARY, seeds=3, executor=executor, out=folder)
        assert whole.files() == serial.files()
        for name, text in whole.files().items():
            assert Path(folder, name).read_text() == text, name
        for name, content in whole.parquet().items():
            assert Path(folder, name).read_bytes() == content, name
            assert content == serial.parquet()[name] and content[:4] == content[-4:] == b"PAR1", name
        assert set(whole.parquet()) == {"sweep.parquet", "runs.parquet"}
        lines = Path(folder, "runs.jsonl").read_text().splitlines()[1:]
        assert len({json.loads(line)["run"] for line in lines}) == len(lines) == 18
    refused("link.bir", lambda: windfall.sweep(SCENARIO, {"link.bir": [1]}))
    return serial


def tables(result, sweep):
    """NumPy and pandas, where they are."""
    try:
        import numpy
        import pandas
    except ImportError:
        return "there is no NumPy or pandas"
    arrays = result.arrays()
    assert numpy.array_equal(arrays["time"], numpy.arange(1, 9) * 0.25)
    assert arrays["links.air/near.delivered"].dtype == numpy.float64
    frame = result.frame()
    assert frame.index.name == "time" and frame.shape == (8, len(result.series))
    assert isinstance(sweep.frame(), pandas.DataFrame)
    assert set(sweep.frame()["runs"]) == {3}
    scenario = {**SCENARIO, "seed": numpy.int64(3)}
    assert windfall.run(scenario).summary == result.summary
    return ""


def cluster(serial):
    """Dask's workers on this machine, of which one is killed while it works."""
    try:
        from distributed import Client, LocalCluster, get_client
    except ImportError:
        return "there is no Dask"
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as nodes:
        with Client(nodes) as client:
            victim = next(iter(client.run(os.getpid).values()))
            executor = client.get_executor()

            class Deadly:
                """Kills a worker once some runs are on their way."""

                count = 0

                def submit(self, work, *arguments):
                    self.count += 1
                    if self.count == 9:
                        os.kill(victim, signal.SIGKILL)
                    return executor.submit(work, *arguments)

            result = windfall.sweep(SCENARIO, VARY, seeds=3, executor=Deadly())
            assert victim not in client.run(os.getpid).values()
    assert result.files() == serial.files()
    return ""


if __name__ == "__main__":
    run, sweep = runs(), sweeps()
    variations()
    for lack in [tables(run, sweep), cluster(sweep)]:
        if lack:
            print(lack, file=sys.stderr)
    print("equal")
