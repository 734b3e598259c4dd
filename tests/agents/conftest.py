"""A Runlore with its embedded store, and a working folder, for the agents of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runlore.agents.workspace.local_workspace import LocalWorkspace
from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.config.settings import Settings
from tests.agents.commands import environment
from tests.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An empty Runlore."""
    made = World(Settings(state_root=str(tmp_path / "home")))
    yield made
    made.close()


@pytest.fixture
def workspace(tmp_path: Path) -> LocalWorkspace:
    """An empty working folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return LocalWorkspaces(environment=environment(tmp_path)).open(str(folder))
