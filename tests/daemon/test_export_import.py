"""Exports hold everything and overwrite nothing; imports are all or nothing, and believed only when exact."""

import fcntl
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runlore.config.settings import Settings
from runlore.domain.errors import RunloreError
from runlore.domain.record import Kind, State
from runlore.domain.records.radar import Finding
from runlore.ports import operations as ops
from tests.fakes import START
from tests.flow.filling import fill
from tests.world import World, replayed

SECRET = "password: hunter2-Tr0ub4dor&3"

pytestmark = pytest.mark.req("SUR-5")


@pytest.mark.req("REC-6", "OPS-4")
def test_an_export_read_into_an_empty_store_gives_an_equal_one(
    world: World, other: World, exported: Path
) -> None:
    answer = world.operator.import_records(str(exported))

    assert (answer.mode, answer.count, answer.skipped) == ("exact", len(other.stored()), {})
    assert world.histories() == other.histories()
    assert world.stored() == other.stored() == replayed(world.histories())
    assert world.search("canary") == other.search("canary") != []
    assert world.active(as_of=START) == other.active(as_of=START) != []
    again = Path(world.operator.export().path).read_bytes().splitlines()
    assert again[1:] == exported.read_bytes().splitlines()[1:]


@pytest.mark.req("LAY-1", "LAY-3")
def test_an_imported_store_goes_on_as_the_first_one_would(world: World, other: World, exported: Path) -> None:
    world.operator.import_records(str(exported))
    merge = next(r for r in other.stored().values() if r.metadata.get("compacted_from"))

    answers = [each.rollback(merge, restore_sources=True) for each in (world, other)]

    assert answers[0] == answers[1]
    assert len(answers[0].restored) == 2


@pytest.mark.req("REC-9", "SUR-6")
def test_an_export_is_one_private_json_document_with_a_record_a_line(world: World) -> None:
    fill(world)

    answer = world.operator.export()

    path = Path(answer.path)
    document = json.loads(path.read_bytes())
    assert (document["export_version"], document["count"]) == (1, answer.count) == (1, len(world.stored()))
    assert {line["record_id"] for line in document["records"]} == set(world.stored())
    assert len(path.read_bytes().splitlines()) == answer.count + 2
    assert path.parent == world.root / "exports"
    assert [each.stat().st_mode & 0o777 for each in (path, path.parent, world.root)] == [0o600, 0o700, 0o700]


def test_no_export_overwrites_another(world: World) -> None:
    world.profile()

    answers = [world.operator.export() for _ in range(3)]

    assert len({answer.path for answer in answers}) == 3
    assert sorted(os.listdir(world.root / "exports")) == [
        "20260101T000000000Z-2.json",
        "20260101T000000000Z-3.json",
        "20260101T000000000Z.json",
    ]


def test_what_a_crash_left_of_an_export_is_removed_by_the_next(sqlite_world: World) -> None:
    world = sqlite_world
    folder = world.root / "exports"
    folder.mkdir()
    (folder / ".partial-left").write_text("half")
    with (folder / ".partial-being-written").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        world.operator.export()

    assert sorted(os.listdir(folder)) == [".partial-being-written", "20260101T000000000Z.json"]


def test_an_export_that_cannot_be_written_says_so(sqlite_world: World) -> None:
    (sqlite_world.root / "exports").touch()

    with pytest.raises(RunloreError) as refusal:
        sqlite_world.operator.export()

    assert refusal.value.code == "export.write"


@pytest.mark.req("TNT-2", "TNT-3", "LRN-8")
def test_into_another_store_what_is_live_lands_as_tainted_candidates(
    world: World, other: World, exported: Path
) -> None:
    present = world.profile("editor", "nano")
    _edit(exported, _first(State.ACTIVE, Kind.FACT), lambda fields: fields.update(summary=SECRET))

    answer = world.operator.import_records(str(exported))

    theirs = other.stored().values()
    live = [record for record in theirs if record.state in {State.ACTIVE, State.CONSTRAINED}]
    gone = Counter(record.state.value for record in theirs if record not in live)
    assert answer.mode == "candidates"
    assert answer.count == len(live) - 1 == len(answer.records)
    assert answer.skipped == {**gone, "looks like a secret": 1}
    made = [world.record(record_id) for record_id in answer.records]
    assert {record.state for record in made} == {State.CONSTRAINED}
    assert all(record.provenance.tainted for record in made)
    assert all(record.provenance.sources[0].startswith("import:") for record in made)
    assert world.files_with("hunter2") == []
    editor = next(record for record in made if record.metadata.get("profile_key") == "editor")
    assert editor.supersedes == present.record_id
    assert world.active() == [present.record_id]
    assert world.stored() == replayed(world.histories())


def test_importing_the_same_file_again_changes_nothing(world: World, exported: Path) -> None:
    world.profile("editor", "nano")
    first = world.operator.import_records(str(exported))
    world.forget(world.reject(first.records[0]))
    before = world.tables()

    again = world.operator.import_records(str(exported))

    assert again.count == 0
    assert again.skipped["already here"] == first.count
    assert world.tables() == before


def test_a_store_knows_its_own_export(world: World) -> None:
    fill(world)
    path = world.operator.export().path
    before = world.tables()

    answer = world.operator.import_records(path)

    assert (answer.count, answer.skipped) == (0, {"already here": len(world.stored())})
    assert world.tables() == before


def test_a_record_that_stands_twice_in_a_file_lands_once(world: World, exported: Path) -> None:
    world.profile("editor", "nano")
    document = json.loads(exported.read_bytes())
    document["records"].append(document["records"][0])
    document["count"] += 1
    exported.write_text(json.dumps(document))

    answer = world.operator.import_records(str(exported))

    assert answer.skipped["already here"] == 1


def test_a_file_that_another_program_laid_out_is_read_too(world: World, other: World, exported: Path) -> None:
    exported.write_text(json.dumps(json.loads(exported.read_bytes()), indent=2, ensure_ascii=True))

    assert world.operator.import_records(str(exported)).mode == "exact"
    assert world.histories() == other.histories()


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A Runlore with many records, which nobody changes."""
    made = World(Settings(state_root=str(tmp_path_factory.mktemp("big") / "home")))
    findings = tuple(_finding(number) for number in range(500))
    made.operator.radar_add(ops.Findings(findings=findings))
    made.operator.radar_add(ops.Findings(findings=findings[:53]))
    yield made
    made.close()


def test_many_records_are_imported_in_one_piece(world: World, big: World) -> None:
    answer = world.operator.import_records(big.operator.export().path)

    assert answer.count == 555
    assert world.histories() == big.histories()


def _edit(path: Path, which: Callable[[Any], bool], change: Callable[[dict[str, Any]], object]) -> None:
    """Change a record of a file together with the event that made it."""
    document = json.loads(path.read_bytes())
    record = next(record for record in document["records"] if which(record))
    change(record)
    change(record["events"][0]["changes"])
    path.write_text(json.dumps(document))


def _first(state: State, kind: Kind) -> Callable[[Any], bool]:
    return lambda record: (record["state"], record["kind"]) == (state, kind)


def _finding(number: int) -> Finding:
    return Finding(
        summary=f"Tool {number} is fast",
        repo_slug=f"acme/{number}",
        source_handle="acme",
        source_url=f"https://example.org/{number}",
    )
