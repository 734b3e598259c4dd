"""A log that was damaged after a crash: told and kept, and a torn one is neither."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runlore.domain.errors import Corrupt
from runlore.storage.sqlite.files import DAMAGED_FOLDER as FOLDER
from tests.builders import fact, proposed
from tests.storage.places import SqlitePlace, stored, write

pytestmark = pytest.mark.req("OPS-2", "PRF-3")

HEADER, FRAME, PAGE = 32, 24, 4_096
TRANSACTIONS = 4


class Crash:
    """What a process that was killed has left: the files as they were while the store was open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        live = SqlitePlace(folder / "live")
        store = live.open()
        # The schema is in the database, and the log begins with what was written since.
        store.scrub()
        for _ in range(TRANSACTIONS):
            write(store, proposed(fact()))
        self.left = folder / "left"
        shutil.copytree(live.root, self.left)
        live.close()
        log = (self.left / "runlore.db-wal").read_bytes()
        frames = [log[at : at + FRAME] for at in range(HEADER, len(log), FRAME + PAGE)]
        # Of what was written before the log began anew nothing has its salts.
        self.frames = [frame for frame in frames if frame[8:16] == log[16:24]]
        self.ends = [number for number, frame in enumerate(self.frames) if frame[4:8] != bytes(4)]
        assert len(self.ends) == TRANSACTIONS
        self.last = range(self.ends[-2] + 1, self.ends[-1] + 1)

    def opened(self, change: Callable[[bytearray], None], *, with_index: bool) -> tuple[int, str]:
        """How many records a start finds, and what it tells of the log, that being changed."""
        root = self._folder / "again"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.left, root)
        log = root / "runlore.db-wal"
        content = bytearray(log.read_bytes())
        change(content)
        log.write_bytes(content)
        if not with_index:
            (root / "runlore.db-shm").unlink()
        place = SqlitePlace(root)
        store = place.open()
        try:
            told = str(store.description().get("damage", ""))
            assert bool(told) == any("was damaged" in problem for problem in store.problems())
            kept = list((root / FOLDER).glob("*.wal")) if told else []
            assert [path.read_bytes() for path in kept] == ([bytes(content)] if told else [])
            write(store, proposed(fact()))
            return len(stored(store)) - 1, told
        finally:
            place.close()


@pytest.fixture(scope="module")
def crash(tmp_path_factory: pytest.TempPathFactory) -> Crash:
    return Crash(tmp_path_factory.mktemp("crash"))


def place_of(number: int) -> int:
    """Where a frame begins."""
    return HEADER + number * (FRAME + PAGE)


def flip(at: int, bit: int = 0) -> Callable[[bytearray], None]:
    def change(log: bytearray) -> None:
        log[at] ^= 1 << bit

    return change


@pytest.mark.parametrize("with_index", [True, False], ids=["killed", "power cut"])
def test_a_log_that_is_whole_is_read_and_nothing_is_told(crash: Crash, *, with_index: bool) -> None:
    assert crash.opened(lambda _: None, with_index=with_index) == (TRANSACTIONS, "")


@pytest.mark.parametrize("with_index", [True, False], ids=["killed", "power cut"])
@pytest.mark.parametrize("inside", [8, 16, FRAME + 100], ids=["salt", "checksum", "page"])
@pytest.mark.sampled(every=2)
def test_one_flipped_bit_of_what_was_acknowledged_is_told_and_the_log_kept(
    crash: Crash, inside: int, *, with_index: bool
) -> None:
    """Of the last transaction only the index knows that it was acknowledged."""
    edges = {number + step for number in (-1, *crash.ends) for step in (0, 1)}
    for number in edges & set(range(len(crash.frames) if with_index else crash.last.start)):
        found, told = crash.opened(flip(place_of(number) + inside), with_index=with_index)

        lost = TRANSACTIONS - found
        assert lost == sum(end >= number for end in crash.ends), number
        assert f"{lost} or more acknowledged" in told or inside == 8, (number, told)
        assert told, number


@pytest.mark.parametrize("with_index", [True, False], ids=["killed", "power cut"])
@pytest.mark.parametrize("at", [0, 10, 17, 25], ids=["magic", "page size", "salt", "checksum"])
def test_a_flipped_bit_of_the_logs_header_is_told(crash: Crash, at: int, *, with_index: bool) -> None:
    found, told = crash.opened(flip(at), with_index=with_index)

    assert (found, bool(told)) == (0, True)


def test_a_torn_last_transaction_is_no_damage(crash: Crash) -> None:
    """A power cut leaves any part of what was not synced yet, in any order."""

    def cut(number: int, inside: int) -> Callable[[bytearray], None]:
        def change(log: bytearray) -> None:
            del log[place_of(number) + inside :]

        return change

    def blank(number: int) -> Callable[[bytearray], None]:
        def change(log: bytearray) -> None:
            log[place_of(number) : place_of(number + 1)] = bytes(FRAME + PAGE)

        return change

    torn = [blank(number) for number in crash.last]
    torn += [cut(number, inside) for number in crash.last for inside in (0, 10, FRAME, FRAME + 700)]
    for change in torn:
        assert crash.opened(change, with_index=False) == (TRANSACTIONS - 1, "")


def test_it_is_told_until_the_note_is_taken_away_and_forgetting_takes_the_copy(
    crash: Crash, tmp_path: Path
) -> None:
    place = SqlitePlace(tmp_path / "home")
    shutil.copytree(crash.left, place.root)
    log = place.root / "runlore.db-wal"
    content = bytearray(log.read_bytes())
    flip(place_of(0) + 100)(content)
    log.write_bytes(content)
    place.open().close()
    store = place.open()
    (note,) = (place.root / FOLDER).glob("*.txt")

    store.scrub()

    assert [path.name for path in (place.root / FOLDER).iterdir()] == [note.name]
    assert "damage" in store.description()
    note.unlink()
    assert store.problems() == ()
    assert "damage" not in store.description()
    place.close()


def test_a_log_that_cannot_be_kept_is_left_as_it_is(crash: Crash, tmp_path: Path) -> None:
    place = SqlitePlace(tmp_path / "home")
    shutil.copytree(crash.left, place.root)
    log = place.root / "runlore.db-wal"
    content = bytearray(log.read_bytes())
    flip(place_of(0) + 100)(content)
    log.write_bytes(content)
    (place.root / FOLDER).write_text("in the way")
    database = place.file.read_bytes()

    with pytest.raises(Corrupt) as caught:
        place.open()

    assert caught.value.code == "store.damaged"
    assert (log.read_bytes(), place.file.read_bytes()) == (bytes(content), database)
