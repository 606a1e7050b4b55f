"""Links that damage, delay and lose, with real programs at their ends; and their simulation."""

from .link import Link, LinkError, Setting, Station
from .simulation import Result, SimulationError, Sweep, SweepError, run, sweep

__all__ = [
    "Link",
    "LinkError",
    "Result",
    "Setting",
    "SimulationError",
    "Station",
    "Sweep",
    "SweepError",
    "run",
    "sweep",
]
