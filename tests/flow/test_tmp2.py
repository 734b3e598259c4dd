"""Exports hold everything and overwrite nothing; imports are all or nothing, and believed only when exact."""

import copy
import fcntl
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from runlore.config.settings import Settings
from runlore.daemon.clock import TimeOrderedIds
from runlore.domain.errors import Invalid, RunloreError
from runlore.domain.radar import Finding
from runlore.domain.record import Kind, Sensitivity, State
from runlore.domain.scope import Scope, ScopeKind
from runlore.ports import operations as ops
from tests.fakes import START
from tests.world import World, decision, found, outcome, replayed

SECRET = "password: hunter2-Tr0ub4dor&3"

pytestmark = pytest.mark.req("SUR-5")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[World]:
    """Another Runlore, with something of everything in it."""
    made = World(Settings(state_root=str(tmp_path / "other")), ids=TimeOrderedIds())
    fill(made)
    yield made
    made.close()


@pytest.fixture
def exported(other: World) -> Path:
    """Its export."""
    return Path(other.operator.export().path)


def fill(world: World) -> None:
    """Every layer that operations write, every state, every link, and something forgotten."""
    later = START + timedelta(days=30)
    world.profile("editor", "vim")
    world.profile("editor", "emacs", sensitivity=Sensitivity.SENSITIVE, expires_at=later)
    world.reject(world.propose("shell", "zsh", scope=Scope(ScopeKind.PROJECT, "acme")))
    world.rollback(world.profile("pager", "less"), reason="not so")
    world.clock.advance(seconds=1)
    for how in ("at night", "on Mondays"):
        world.fact(f"The shop uses canary releases {how}", topic_tags=("canary", "shop"))
    world.confirm(world.finding("The shop uses canary releases at night"))
    world.confirm(world.proposals()[0])
    found(world.agent, "用户喜欢深色主题 \u202e\t“quoted”")
    world.procedure("Run the tests, then tag", "release")
    world.episode(kind=Kind.FAILURE, metadata={"trials": 3, "rate": 0.25, "notes": [None, True, {"a": []}]})
    world.clock.advance(seconds=1)
    world.forget(world.profile("address", "Elm Street"))
    world.propose("theme", "dark", expires_at=later)


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


@pytest.mark.req("REC-9")
def test_an_export_is_one_private_json_document_with_a_record_a_line(world: World) -> None:
    fill(world)

    answer = world.operator.export()

    path = Path(answer.path)
    document = json.loads(path.read_bytes())
    assert (document["export_version"], document["count"]) == (1, answer.count) == (1, len(world.stored()))
    assert {line["record_id"] for line in document["records"]} == set(world.stored())
    assert len(path.read_bytes().splitlines()) == answer.count + 2
    assert path.parent == world.root / "exports"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


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


def test_many_records_are_imported_in_one_piece(world: World, tmp_path: Path) -> None:
    big = World(Settings(state_root=str(tmp_path / "big")))
    findings = tuple(_finding(number) for number in range(1_000))
    big.operator.radar_add(ops.Findings(findings=findings))
    big.operator.radar_add(ops.Findings(findings=findings[:203]))

    answer = world.operator.import_records(big.operator.export().path)

    assert answer.count == 1_205
    assert world.histories() == big.histories()
    big.close()


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_file_cut_off_at_any_byte_is_refused_whole(world: World, tmp_path: Path, is_empty: bool) -> None:
    source = World(Settings(state_root=str(tmp_path / "source")), ids=TimeOrderedIds())
    source.profile("editor", "用户")
    whole = Path(source.operator.export().path).read_bytes()
    source.close()
    if not is_empty:
        world.propose()
    before = world.tables()
    cut = tmp_path / "cut.json"
    # On a server each try costs more, and the reading is the same.
    step = 13 if world.settings.database_url else 1

    # The last byte is the line's end, without which the document is whole.
    for length in range(0, len(whole) - 1, step):
        cut.write_bytes(whole[:length])
        with pytest.raises(Invalid) as refusal:
            world.operator.import_records(str(cut))
        assert refusal.value.code == "import.file"

    assert world.tables() == before
    cut.write_bytes(whole[:-1])
    assert world.operator.import_records(str(cut)).count == 1


def _no_export(document: Any) -> Any:
    return {"hello": "world"}


def _newer_version(document: Any) -> None:
    document["export_version"] = 2


def _wrong_count(document: Any) -> None:
    document["count"] += 1


def _long_store_id(document: Any) -> None:
    document["store_id"] = "x" * 5_000


def _unstorable_store_id(document: Any) -> None:
    document["store_id"] = "\0"


def _records_that_are_no_list(document: Any) -> None:
    document["records"] = {}


def _record_without_events(document: Any) -> None:
    document["records"][0]["events"] = []


def _record_that_is_a_text(document: Any) -> None:
    document["records"][0] = "record"


def _events_of_another_record(document: Any) -> None:
    first, second = document["records"][:2]
    first["events"], second["events"] = second["events"], first["events"]


def _record_that_its_events_do_not_lead_to(document: Any) -> None:
    document["records"][0]["summary"] = "editor: nano"


def _event_that_is_missing(document: Any) -> None:
    events = next(record["events"] for record in document["records"] if len(record["events"]) > 2)
    del events[1]


def _illegal_move(document: Any) -> None:
    record = next(record for record in document["records"] if len(record["events"]) > 1)
    record["events"][1]["move"] = "restore"


def _moves_between_other_states(document: Any) -> None:
    record = next(record for record in document["records"] if len(record["events"]) > 1)
    record["events"][1]["from_state"] = "superseded"


def _content_that_would_never_be_erased(document: Any) -> None:
    record = document["records"][0]
    record["stowaway"] = record["events"][0]["changes"]["stowaway"] = "a text"


def _stowaway_in_an_early_event(document: Any) -> None:
    record = next(record for record in document["records"] if len(record["events"]) > 1)
    record["events"][0]["changes"]["provenance"] = {
        **record["events"][0]["changes"]["provenance"],
        "note": "a text",
    }
    record["events"][1]["changes"]["provenance"] = record["provenance"]


def _breach_of_a_contract(document: Any) -> None:
    record = next(record for record in document["records"] if record["layer"] == "profile")
    for fields in (record, record["events"][0]["changes"]):
        fields["metadata"] = {"profile_key": "editor"}


def _endless_reason(document: Any) -> None:
    document["records"][0]["events"][0]["reason"] = "because " * 1_000


def _other_layer(document: Any) -> None:
    record = document["records"][0]
    record["layer"] = record["events"][0]["changes"]["layer"] = "working"


MALFORMED = [
    _no_export,
    _newer_version,
    _wrong_count,
    _long_store_id,
    _unstorable_store_id,
    _records_that_are_no_list,
    _record_without_events,
    _record_that_is_a_text,
    _events_of_another_record,
    _record_that_its_events_do_not_lead_to,
    _event_that_is_missing,
    _illegal_move,
    _moves_between_other_states,
    _content_that_would_never_be_erased,
    _stowaway_in_an_early_event,
    _breach_of_a_contract,
    _endless_reason,
    _other_layer,
]


@pytest.mark.req("REC-5", "REC-8")
@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.parametrize("spoil", MALFORMED, ids=lambda spoil: spoil.__name__.strip("_"))
def test_a_file_that_says_what_cannot_be_is_refused_whole(
    sqlite_world: World, exported: Path, spoil: Callable[[Any], Any], is_empty: bool
) -> None:
    world = sqlite_world
    if not is_empty:
        world.propose()
    before = world.tables()
    document = json.loads(exported.read_bytes())
    exported.write_text(json.dumps(spoil(document) or document))

    with pytest.raises(Invalid) as refusal:
        world.operator.import_records(str(exported))

    assert refusal.value.code in {"import.file", "text.characters"}
    assert refusal.value.hint
    assert world.tables() == before


@pytest.mark.parametrize("name", ["missing.json", "folder", "pipe", "nul\0"])
def test_what_is_no_file_is_refused(sqlite_world: World, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(Invalid) as refusal:
        sqlite_world.operator.import_records(f"{tmp_path}/{name}")

    assert refusal.value.code == "import.file"


def test_a_line_after_the_end_is_refused(sqlite_world: World, exported: Path) -> None:
    exported.write_bytes(exported.read_bytes() + b"{}\n")

    with pytest.raises(Invalid, match="goes on after its end"):
        sqlite_world.operator.import_records(str(exported))


import atexit
COUNT=Counter()
atexit.register(lambda: print(COUNT))
STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "\0",
    "\ud800",
    "active",
    [],
    ["x"],
    [None],
    {},
    {"x": 1},
]


@pytest.mark.req("REC-6")
@hypothesis_settings(max_examples=6000, derandomize=False, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_changed_in_a_file_it_is_refused_or_stored_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    document = copy.deepcopy(_small_document(tmp_path_factory))
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(list(_places(document))))
        _spoil(document, place, data.draw(st.sampled_from(STRANGE)))
    world = World(Settings(state_root=str(tmp_path_factory.mktemp("fuzz"))))
    path = world.root / "file.json"
    path.write_text(json.dumps(document))
    before = world.tables()

    code = outcome(lambda: world.operator.import_records(str(path)))
    COUNT[code] += 1

    if code == "done":
        assert world.stored() == replayed(world.histories())
        assert world.operator.list_records(ops.ListRequest()).next_cursor is None
        world.search("vim", include_stale=True)
        for record_id in world.stored():
            world.operator.forget(decision(record_id))
        assert world.files_with("emacs") == [str(path)]
    else:
        assert code in {"import.file", "text.characters", "record.exists"}
        assert world.tables() == before
    world.close()


_SMALL: dict[str, Any] = {}


def _small_document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not _SMALL:
        world = World(Settings(state_root=str(tmp_path_factory.mktemp("small"))))
        world.profile("editor", "vim")
        world.profile("editor", "emacs", expires_at=START + timedelta(days=1))
        found(world.agent, "Emacs is extensible")
        _SMALL.update(json.loads(Path(world.operator.export().path).read_bytes()))
        world.close()
    return _SMALL


def _places(value: Any) -> Iterator[tuple[Any, ...]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (key,)
        yield from ((key, *further) for further in _places(value[key]))


def _spoil(document: Any, place: tuple[Any, ...], value: Any) -> None:
    """Put something strange in a place; in a record, its events tell the same, so that they still agree."""
    _put(document, place, value)
    if len(place) > 2 and place[0] == "records" and place[2] != "events":
        for event in document["records"][place[1]].get("events") if isinstance(document["records"][place[1]].get("events"), list) else ():
            _put(event, ("changes", *place[2:]), value)


def _put(holder: Any, place: tuple[Any, ...], value: Any) -> None:
    *way, last = place
    try:
        for key in way:
            holder = holder[key]
        holder[last]
    except (KeyError, IndexError, TypeError):
        return
    if not isinstance(holder, str):
        holder[last] = copy.deepcopy(value)


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
