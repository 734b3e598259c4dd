"""Ways to connect for the tests of the SDK."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import runlore
from runlore.config.settings import Settings
from tests.surfaces.api_client import Api, serving

Reach = Callable[[], runlore.Lore]


@pytest.fixture(params=["embedded", "sqlite", "postgres"])
def reach(request: pytest.FixtureRequest, clean_home: Path) -> Iterator[Reach]:
    """A way to connect, which may be taken again and again."""
    if request.param == "embedded":
        yield partial(runlore.connect, home=str(clean_home / "own"))
        return
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    with serving(Settings(state_root=str(clean_home / "runlore"), database_url=url)) as api:
        yield partial(connect_to, api)


def connect_to(api: Api) -> runlore.Lore:
    return runlore.connect(url=f"http://127.0.0.1:{api.port}", token=api.secret)
