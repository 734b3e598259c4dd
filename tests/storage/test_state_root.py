"""The state root: private, locked, and an error that says what is wrong with it."""

import os
import stat
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from runlore.domain.errors import Corrupt, Invalid, RunloreError, Unavailable
from runlore.domain.record import Record
from runlore.storage.open import open_store
from tests.builders import fact, proposed
from tests.storage.places import SqlitePlace, stored, write

FILES = ("runlore.db", "runlore.db-wal", "runlore.db-shm", "lock", "ballast")
HOLD = """
import sys
from runlore.storage.open import open_store
store = open_store(database_url=None, state_root=sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def _open(root: object) -> None:
    open_store(database_url=None, state_root=str(root)).close()


@pytest.mark.req("SUR-6")
@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777], ids=oct)
def test_folder_and_files_are_private_whatever_the_umask(sqlite_place: SqlitePlace, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = sqlite_place.open()
        write(store, proposed(fact()))
        stored(store)
    finally:
        os.umask(before)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in sqlite_place.root.iterdir()}
    assert stat.S_IMODE(sqlite_place.root.stat().st_mode) == 0o700
    assert modes == dict.fromkeys(
        ("runlore.db", "runlore.db-wal", "runlore.db-shm", "lock", "ballast"), 0o600
    )


@pytest.mark.req("SUR-6")
def test_a_root_of_ours_that_was_opened_to_others_is_closed_again(sqlite_place: SqlitePlace) -> None:
    sqlite_place.open().close()
    sqlite_place.root.chmod(0o755)
    sqlite_place.file.chmod(0o644)

    sqlite_place.open()

    assert stat.S_IMODE(sqlite_place.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(sqlite_place.file.stat().st_mode) == 0o600


@pytest.mark.req("SUR-6")
def test_a_shared_folder_of_somebody_else_is_neither_used_nor_closed(tmp_path: Path) -> None:
    (tmp_path / "somebody's letter").touch()
    tmp_path.chmod(0o755)

    with pytest.raises(Invalid) as caught:
        _open(tmp_path)

    assert caught.value.code == "store.root"
    assert "chmod 700" in caught.value.hint
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["somebody's letter"]


@pytest.mark.req("SUR-6")
@pytest.mark.parametrize("root", ["", "a\0b"])
def test_a_root_that_is_no_path_is_invalid(root: str) -> None:
    with pytest.raises(Invalid) as caught:
        _open(root)

    assert caught.value.code == "store.root"


def _a_file(tmp_path: Path) -> Path:
    (tmp_path / "file").touch()
    return tmp_path / "file"


def _below_a_file(tmp_path: Path) -> Path:
    return _a_file(tmp_path) / "home"


def _too_long(tmp_path: Path) -> Path:
    return tmp_path / ("x" * 300)


def _a_loop(tmp_path: Path) -> Path:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    return tmp_path / "loop"


def _read_only(tmp_path: Path) -> Path:
    # Root writes into any folder, but not even root makes a file in /proc.
    return Path("/proc/runlore-home")


def _database_is_a_folder(tmp_path: Path) -> Path:
    (tmp_path / "home" / "runlore.db").mkdir(parents=True)
    return tmp_path / "home"


def _lock_is_a_folder(tmp_path: Path) -> Path:
    (tmp_path / "home" / "lock").mkdir(parents=True)
    return tmp_path / "home"


@pytest.mark.req("SUR-6")
@pytest.mark.parametrize(
    "root",
    [_a_file, _below_a_file, _too_long, _a_loop, _read_only, _database_is_a_folder, _lock_is_a_folder],
    ids=lambda function: function.__name__.strip("_"),
)
def test_a_root_that_cannot_be_used_is_told_with_its_reason(
    root: Callable[[Path], Path], tmp_path: Path
) -> None:
    with pytest.raises(Unavailable) as caught:
        _open(root(tmp_path))

    assert caught.value.code == "store.root"
    assert "RUNLORE_HOME" in caught.value.hint


@pytest.mark.req("SUR-6")
def test_a_root_of_another_user_is_told_with_its_reason(tmp_path: Path) -> None:
    """As a user without rights, in a process of its own, since the tests may run as root."""
    tmp_path.chmod(0o755)
    root = tmp_path / "home"
    root.mkdir(mode=0o500)
    code = """
import os, sys
from runlore.domain.errors import Unavailable
from runlore.storage.open import open_store
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    open_store(database_url=None, state_root=sys.argv[1])
except Unavailable as error:
    print(error.code)
"""
    run = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=False)

    assert run.stdout == "store.root\n", run.stderr


@pytest.mark.req("SUR-7")
def test_a_root_that_another_process_holds_is_refused_and_the_holder_named(sqlite_place: SqlitePlace) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(sqlite_place.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(Unavailable) as caught:
            sqlite_place.open()
        holder.kill()

    assert caught.value.code == "store.locked"
    assert f"process {holder.pid}" in caught.value.sentence
    assert stored(sqlite_place.open()) == []


@pytest.mark.req("SUR-7")
def test_a_second_store_in_the_same_process_waits_and_gets_the_root_when_it_is_free(
    sqlite_place: SqlitePlace,
) -> None:
    first = sqlite_place.open()
    opened: list[object] = []
    second = threading.Thread(target=lambda: opened.append(sqlite_place.open()))
    second.start()

    assert opened == []
    first.close()
    second.join()

    assert len(opened) == 1


@pytest.mark.req("SUR-7")
def test_a_second_store_in_the_same_process_is_refused_in_the_end(
    sqlite_place: SqlitePlace,
) -> None:
    sqlite_place.open()

    with pytest.raises(Unavailable) as caught:
        sqlite_place.open()

    assert caught.value.code == "store.locked"
    assert "this process itself" in caught.value.sentence


@pytest.mark.req("SUR-7")
def test_a_program_that_locks_the_file_itself_is_told_in_time(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    stranger = apsw.Connection(str(sqlite_place.file))
    stranger.execute("BEGIN IMMEDIATE")

    with pytest.raises(Unavailable) as caught:
        write(store, proposed(fact()))
    stranger.execute("ROLLBACK")
    stranger.close()

    assert caught.value.code == "store.locked"
    write(store, proposed(fact()))


def _not_a_database(file: Path) -> None:
    file.write_bytes(b"This is a letter, and no database. " * 200)


def _short(file: Path) -> None:
    file.write_bytes(b"SQLite")


def _cut_off(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 8_192)


def _schema_flipped(file: Path) -> None:
    _flip(file, 100, 600)


def _header_flipped(file: Path) -> None:
    _flip(file, 18, 22)


def _flip(file: Path, start: int, end: int, *, bits: int = 0xFF) -> None:
    content = bytearray(file.read_bytes())
    content[start:end] = bytes(byte ^ bits for byte in content[start:end])
    file.write_bytes(content)


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize(
    "damage",
    [_not_a_database, _short, _cut_off, _schema_flipped, _header_flipped],
    ids=lambda function: function.__name__.strip("_"),
)
def test_a_damaged_file_is_told_and_left_as_it_is(
    sqlite_place: SqlitePlace, damage: Callable[[Path], None]
) -> None:
    store = sqlite_place.open()
    write(store, *(proposed(fact()) for _ in range(100)))
    store.close()
    damage(sqlite_place.file)
    before = sqlite_place.file.read_bytes()

    with pytest.raises(Corrupt) as caught:
        sqlite_place.open()

    assert caught.value.code == "store.damaged"
    assert "backup" in caught.value.hint
    assert sqlite_place.file.read_bytes() == before


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("bits", [0x01, 0xFF], ids=hex)
@pytest.mark.parametrize("step", [2_003, pytest.param(131, marks=pytest.mark.soak)])
def test_a_flipped_byte_is_harmless_or_told_when_it_is_read(
    sqlite_place: SqlitePlace, step: int, bits: int
) -> None:
    store = sqlite_place.open()
    write(store, *(proposed(fact()) for _ in range(20)))
    records = stored(store)
    store.close()
    content = sqlite_place.file.read_bytes()
    answers: Counter[str] = Counter()

    for place in range(0, len(content), step):
        _flip(sqlite_place.file, place, place + 1, bits=bits)
        answers[_answer(sqlite_place, records)] += 1
        _remove_log(sqlite_place)
        sqlite_place.file.write_bytes(content)

    assert set(answers) <= {
        *("the same", "store.damaged", "record.damaged"),
        *("store.foreign", "store.migration-changed", "store.newer-schema", "store.io", "store.read-only"),
    }
    assert answers["store.damaged"] > 50 * 131 // step


def _answer(place: SqlitePlace, records: list[Record]) -> str:
    try:
        return "the same" if stored(place.open()) == records else "something else"
    except RunloreError as error:
        return error.code
    finally:
        place.close()


def _remove_log(place: SqlitePlace) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{place.file}{suffix}").unlink(missing_ok=True)


@pytest.mark.req("OPS-4")
def test_damage_found_while_reading_stops_the_writes_and_leaves_the_reads(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    changes = [proposed(fact()) for _ in range(200)]
    write(store, *changes)
    store.close()
    page = next(
        iter(sqlite_place.sql("SELECT pageno FROM dbstat WHERE name = 'record_events' AND pagetype = 'leaf'"))
    )
    start = (int(str(page[0])) - 1) * 4_096
    _flip(sqlite_place.file, start, start + 64)
    store = sqlite_place.open()

    with pytest.raises(Corrupt):
        stored(store)
    with pytest.raises(Corrupt) as caught:
        write(store, proposed(fact()))

    assert caught.value.code == "store.damaged"
    assert str(store.description()["writes"]).startswith("stopped")
    with store.snapshot() as snapshot:
        assert snapshot.records.get(changes[-1].record.record_id) == changes[-1].record


@pytest.mark.req("OPS-4")
def test_a_database_of_another_program_is_left_alone(sqlite_place: SqlitePlace) -> None:
    sqlite_place.root.mkdir(mode=0o700)
    sqlite_place.sql("CREATE TABLE letters (text)")
    before = sqlite_place.file.read_bytes()

    with pytest.raises(RunloreError) as caught:
        sqlite_place.open()

    assert caught.value.code == "store.foreign"
    assert sqlite_place.file.read_bytes() == before


@pytest.mark.req("OPS-4")
def test_the_log_is_copied_into_the_database_now_and_then(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    log = Path(f"{sqlite_place.file}-wal")

    largest = 0
    for _ in range(40):
        write(store, *(proposed(fact()) for _ in range(300)))
        largest = max(largest, log.stat().st_size)

    assert sqlite_place.file.stat().st_size > 8 * 1024**2
    assert largest < 24 * 1024**2
