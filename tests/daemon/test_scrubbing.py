"""Forgetting on a disk that fails behind it: what was erased is answered, and scrubbed once more."""

import errno
import os

import pytest

from runlore.daemon.scrubbing import NOTE_PREFIX, ScrubNotes
from tests.world import World


@pytest.mark.req("PRF-2", "LRN-12")
def test_a_note_that_cannot_be_taken_away_is_left_to_the_next_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = world.profile()
    unlink = os.unlink

    def fail(path: str, **named: int) -> None:
        if NOTE_PREFIX in str(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        unlink(path, **named)

    with monkeypatch.context() as failing:
        failing.setattr(os, "unlink", fail)
        told = world.forget(record)
    owed = ScrubNotes(str(world.root)).is_owed()
    world.restart()

    assert [each.record_id for each in told.records] == [record.record_id]
    assert owed
    assert not ScrubNotes(str(world.root)).is_owed()
