"""Long work says how far it has come."""

from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.clock import TimeOrderedIds
from tests.world import World


@pytest.mark.req("SUR-7")
def test_an_export_and_an_import_tell_how_far_they_are(world: World, tmp_path: Path) -> None:
    other = World(Settings(state_root=str(tmp_path / "other")), ids=TimeOrderedIds())
    other.profile("editor", "vim")
    other.episode()
    told: list[tuple[int, int]] = []

    exported = other.operator.export(progress=lambda done, total: told.append((done, total)))
    world.operator.import_records(exported.path, progress=lambda done, total: told.append((done, total)))

    other.close()
    assert told == [(2, 2), (2, 2)]
