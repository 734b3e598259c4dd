"""A file that is cut off, or says what cannot be, is refused whole."""

import copy
import json
import os
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
from runlore.domain.errors import Invalid
from runlore.ports import operations as ops
from tests.examples import scaled
from tests.fakes import START
from tests.flow.filling import fill
from tests.world import World, decision, found, outcome, replayed

pytestmark = pytest.mark.req("SUR-5")


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


def _move_that_leads_elsewhere(document: Any) -> None:
    record = next(record for record in document["records"] if len(record["events"]) > 1)
    assert record["events"][1]["move"] == "confirm"
    record["events"][1]["move"] = "reject"


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


def _stowaway_in_the_only_event(document: Any) -> None:
    record = next(record for record in document["records"] if len(record["events"]) == 1)
    record["events"][0]["changes"]["stowaway"] = "a text"


def _stowaway_in_the_last_event(document: Any) -> None:
    record = next(record for record in document["records"] if len(record["events"]) > 1)
    record["events"][-1]["changes"]["stowaway"] = "a text"


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
    _move_that_leads_elsewhere,
    _moves_between_other_states,
    _content_that_would_never_be_erased,
    _stowaway_in_an_early_event,
    _stowaway_in_the_only_event,
    _stowaway_in_the_last_event,
    _breach_of_a_contract,
    _endless_reason,
    _other_layer,
]


@pytest.fixture(scope="module")
def whole_export(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An export with something of everything, made once."""
    made = World(Settings(state_root=str(tmp_path_factory.mktemp("other") / "home")), ids=TimeOrderedIds())
    fill(made)
    whole = Path(made.operator.export().path).read_bytes()
    made.close()
    return whole


@pytest.fixture
def exported(tmp_path: Path, whole_export: bytes) -> Path:
    """A copy of it to spoil."""
    file = tmp_path / "export.json"
    file.write_bytes(whole_export)
    return file


@pytest.mark.req("REC-5", "REC-8")
@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.parametrize("spoil", MALFORMED, ids=lambda spoil: spoil.__name__.strip("_"))
@pytest.mark.sampled(every=2)
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
@hypothesis_settings(max_examples=scaled(83), suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        world.profile("editor", "vim", expires_at=START + timedelta(days=1))
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
        events = document["records"][place[1]].get("events")
        for event in events if isinstance(events, list) else ():
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
