"""The fixture `windfall_link` of pytest: links that last as long as a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from .link import Link


@pytest.fixture
def windfall_link() -> Iterator[Callable[..., Link]]:
    """Makes links that are up, by the settings of `Link`; they end with the test."""
    with ExitStack() as links:

        def make(**settings: object) -> Link:
            link = Link(**settings)  # type: ignore[arg-type]
            link.start()
            links.callback(link.end)
            return link

        yield make
