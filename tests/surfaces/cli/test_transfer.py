"""Exports and imports: whole or not at all, and never over another file."""

import concurrent.futures
import copy
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.wiring import open_parts
from runlore.domain.access import LOCAL_OPERATOR
from tests.fakes import FakeClock
from tests.surfaces.command_line import Json, Runlore

QUEUE = ("--topic-tag", "queue", "--topic-tag", "agents")


def live_a_little(runlore: Runlore) -> None:
    """Records of all layers and states, with their history."""
    runlore.prefer("editor", "vim")
    runlore.prefer("editor", "helix", "--scope", "workspace")
    runlore.propose("shell", "fish", "--scope", "project:acme", "--sensitive", "--expires-at", "2099-01-01")
    runlore.json("memory", "review", "reject", runlore.propose("pager", "more"), "--reason", "no")
    runlore.json(
        "memory", "episode", "add", "Tried 中文 \u202e\n☃", "--metadata", '{"a": {"b": [1, 2.5, null]}}'
    )
    for text in ("Atlas agents take tasks from a queue", "Atlas agents take their tasks from one queue"):
        runlore.learn(text, *QUEUE)
    runlore.adopt("Deploy with the green pipeline", "deploy")
    made = runlore.json("memory", "semantic", "compact", "--create-proposals")["records"]
    runlore.json("memory", "rollback", runlore.confirm(made[0]["record_id"])["record_id"])
    runlore.json("memory", "forget", runlore.prefer("hobby", "birds"), "--yes")


def export(runlore: Runlore) -> Path:
    """The path of a new export."""
    return Path(runlore.json("memory", "export")["path"])


def lines_without_header(path: Path) -> list[str]:
    """An export's records as they stand in the file."""
    return path.read_text("utf-8").split("\n", 1)[1].splitlines()


def header(path: Path) -> Json:
    """What an export says of itself, but for when and where."""
    document = json.loads(path.read_text("utf-8"))
    return {
        name: value for name, value in document.items() if name not in {"records", "generated_at", "store_id"}
    }


@pytest.mark.req("SUR-5")
def test_an_export_holds_all_layers_states_and_events(runlore: Runlore) -> None:
    live_a_little(runlore)
    count = sum(sum(states.values()) for states in runlore.json("status")["records"].values())

    answer = runlore.json("memory", "export")

    assert list(answer) == ["path", "count", "export_version"]
    assert (answer["count"], answer["export_version"]) == (count, 1)
    path = Path(answer["path"])
    assert path.parent == runlore.home / "exports"
    document = json.loads(path.read_text("utf-8"))
    records = document["records"]
    assert document["count"] == len(records) == count
    assert {record["layer"] for record in records} == {"profile", "episodic", "semantic", "procedural"}
    assert {record["state"] for record in records} == {"active", "constrained", "superseded", "tombstoned"}
    for record in records:
        events = record.pop("events")
        assert record == runlore.inspect(record["record_id"])
        assert events == runlore.items("memory", "history", record["record_id"])


@pytest.mark.req("SUR-5")
def test_no_export_overwrites_another_of_the_same_millisecond(embedded: Runlore) -> None:
    embedded.prefer("editor", "vim")
    parts = open_parts(Settings(state_root=str(embedded.home)), clock=FakeClock())
    try:
        runlore = Application(parts, LOCAL_OPERATOR)
        paths = [Path(runlore.export().path) for _ in range(3)]
    finally:
        parts.close()

    assert [path.name for path in paths] == [
        "20260101T000000000Z.json",
        "20260101T000000000Z-2.json",
        "20260101T000000000Z-3.json",
    ]
    assert sorted((embedded.home / "exports").iterdir()) == sorted(paths)
    assert len({path.read_text() for path in paths}) == 1


@pytest.mark.req("SUR-5")
def test_what_lies_among_the_exports_is_left_alone(embedded: Runlore) -> None:
    embedded.prefer("editor", "vim")
    first = export(embedded)
    mine = first.with_name("20990101T000000000Z.json")
    mine.write_text("mine")
    written = first.read_bytes()

    second = export(embedded)

    assert second not in {first, mine}
    assert (first.read_bytes(), mine.read_text()) == (written, "mine")
    assert set((embedded.home / "exports").iterdir()) == {first, second, mine}


@pytest.mark.req("SUR-5")
def test_exports_at_the_same_time_are_different_files(runlore: Runlore) -> None:
    runlore.prefer("editor", "vim")

    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        outcomes = list(threads.map(lambda _: runlore.forked("memory", "export", "--json"), range(3)))

    paths = {json.loads(outcome.out)["path"] for outcome in outcomes}
    assert len(paths) == 3
    assert len({tuple(lines_without_header(Path(path))) for path in paths}) == 1


@pytest.mark.req("SUR-5")
def test_an_import_into_an_empty_store_gives_an_equal_export(runlore: Runlore, other: Runlore) -> None:
    live_a_little(runlore)
    first = export(runlore)

    answer = other.json("memory", "import", str(first))

    second = export(other)
    assert (answer["mode"], answer["skipped"]) == ("exact", {})
    assert answer["count"] == header(first)["count"]
    assert lines_without_header(second) == lines_without_header(first)
    assert header(second) == header(first)
    assert other.items("memory", "search", "helix") != []


@pytest.mark.req("SUR-5", "OPS-4")
def test_an_import_from_sqlite_into_postgresql_is_equal_too(
    embedded: Runlore, clean_home: Path, postgres_database: str
) -> None:
    live_a_little(embedded)
    server = Runlore(clean_home / "server", postgres_database)
    first = export(embedded)

    server.json("memory", "import", str(first))

    assert lines_without_header(export(server)) == lines_without_header(first)


@pytest.mark.req("SUR-5", "TNT-3")
def test_an_import_into_another_store_lands_as_candidates_once(runlore: Runlore, other: Runlore) -> None:
    live_a_little(other)
    runlore.prefer("language", "English")
    path = str(export(other))

    answer = runlore.json("memory", "import", path)

    assert answer["mode"] == "candidates"
    assert answer["count"] == len(answer["records"]) > 0
    candidates = [runlore.inspect(record_id) for record_id in answer["records"]]
    assert {record["state"] for record in candidates if record["layer"] != "episodic"} == {"constrained"}
    assert all(record["provenance"]["untrusted"] for record in candidates)
    assert all(record["source"]["imported_from"] for record in candidates)
    assert [record["summary"] for record in runlore.items("memory", "list", "--layer", "profile")] == [
        "language: English"
    ]
    before = runlore.contents()
    again = runlore.json("memory", "import", path)
    assert (again["count"], again["records"]) == (0, [])
    assert again["skipped"]["already here"] == answer["count"]
    assert runlore.contents() == before


@pytest.mark.req("SUR-5")
def test_a_person_is_told_how_an_import_landed(embedded: Runlore, other: Runlore) -> None:
    other.prefer("editor", "vim")
    other.json("memory", "review", "reject", other.propose("shell", "fish"))
    path = str(export(other))

    exact = embedded.text("memory", "import", path)
    twice = embedded.text("memory", "import", path)

    assert exact == "Imported 2 records, exactly as in the file, with all history.\n"
    assert twice.startswith("Imported 0 records as candidates.\n")
    assert "  left out 2: already here\n" in twice


@pytest.mark.req("SUR-5")
def test_a_file_written_in_another_way_is_read_too(embedded: Runlore, other: Runlore, tmp_path: Path) -> None:
    live_a_little(other)
    path = export(other)
    pretty = tmp_path / "pretty.json"
    pretty.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=2))

    assert embedded.json("memory", "import", str(pretty))["mode"] == "exact"
    assert lines_without_header(export(embedded)) == lines_without_header(path)


MAY_BE_NULL = {
    *("state_reason", "publish_tier", "policy_decision", "policy_actor", "automation_review", "proposal"),
    *("supersedes", "superseded_by", "duplicate_of", "published_at", "expires_at", "revalidate_at"),
}
BAD_FILES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "not json": lambda _: b"hello",
    "not an object": lambda _: b"[1, 2]",
    "not an export": lambda _: b'{"records": []}',
    "cut in a record": lambda text: text[: len(text) // 2],
    "cut between records": lambda text: b"\n".join(text.split(b"\n")[:3]),
    "without its end": lambda text: text.rstrip().removesuffix(b"]}"),
    "with more behind its end": lambda text: text + b"{}\n",
    "of a later version": lambda text: text.replace(b'"export_version":1', b'"export_version":2'),
    "with a version that is no number": lambda text: text.replace(
        b'"export_version":1', b'"export_version":"1"'
    ),
    "with a wrong count": lambda text: text.replace(b'"count":', b'"count":9', 1),
    "with a broken byte": lambda text: text.replace(b"editor: vim", b"editor: v\xff\xfe", 1),
    "with a line doubled": lambda text: b"\n".join([*text.split(b"\n")[:2], *text.split(b"\n")[1:]]),
}


@pytest.mark.req("SUR-5")
@pytest.mark.parametrize("empty", [True, False], ids=["into an empty store", "into another"])
def test_a_malformed_file_is_refused_whole(
    empty: bool, runlore: Runlore, other: Runlore, tmp_path: Path
) -> None:
    live_a_little(other)
    text = export(other).read_bytes()
    runlore.json("status") if empty else runlore.prefer("language", "English")
    before = runlore.contents()
    file = tmp_path / "bad.json"

    for name, spoil in BAD_FILES.items():
        file.write_bytes(spoil(text))
        failure = runlore.fails("memory", "import", str(file))

        assert (failure.exit_code, failure.code) == (2, "import.file"), name
        assert "nothing was imported" in failure.problem["detail"], name
        assert failure.problem["hint"], name
        assert runlore.contents() == before, name


@pytest.mark.req("SUR-5")
@pytest.mark.parametrize("path", [".", "missing.json", "", "a\0b"])
def test_a_path_that_is_no_file_is_refused(path: str, embedded: Runlore) -> None:
    embedded.prefer("editor", "vim")
    before = embedded.contents()

    failure = embedded.fails("memory", "import", path)

    assert (failure.exit_code, failure.code) == (2, "import.file")
    assert embedded.contents() == before


@pytest.mark.req("SUR-5")
def test_a_pipe_can_be_imported_and_a_bad_one_is_refused(embedded: Runlore, other: Runlore) -> None:
    other.prefer("editor", "vim")
    path = export(other)
    with open(path, "rb") as whole:
        assert embedded.forked("memory", "import", "/dev/stdin", stdin=whole.fileno()).code == 0
    reading, writing = os.pipe()
    os.write(writing, b'{"export_version": 1')
    os.close(writing)

    bad = embedded.forked("memory", "import", "/dev/stdin", "--json", stdin=reading)

    os.close(reading)
    assert (bad.code, json.loads(bad.err)["code"]) == (2, "import.file")


@pytest.mark.req("SUR-5", "REC-6")
def test_a_record_that_differs_from_its_events_is_refused(
    runlore: Runlore, other: Runlore, tmp_path: Path
) -> None:
    other.prefer("editor", "vim")
    document = json.loads(export(other).read_text("utf-8"))
    file = tmp_path / "tampered.json"
    runlore.json("status")
    before = runlore.contents()

    for tampered in _tampered(document):
        file.write_text(json.dumps(tampered))
        failure = runlore.fails("memory", "import", str(file))

        assert (failure.exit_code, failure.code) == (2, "import.file"), tampered
        assert runlore.contents() == before, tampered


@pytest.mark.req("SUR-5", "REC-8")
def test_a_value_of_a_wrong_type_anywhere_in_a_file_is_refused(
    embedded: Runlore, other: Runlore, tmp_path: Path
) -> None:
    other.prefer("editor", "vim")
    document = json.loads(export(other).read_text("utf-8"))
    file = tmp_path / "bent.json"
    embedded.json("status")
    before = embedded.contents()

    for place, bent in _bent(document):
        file.write_text(json.dumps(bent))
        outcome = embedded.run("memory", "import", str(file))

        assert outcome.code == 2, (place, outcome)
        assert "Traceback" not in outcome.err, place
        assert embedded.contents() == before, place


@pytest.mark.req("SUR-5", "LRN-8")
def test_a_secret_in_a_file_is_left_out(runlore: Runlore, other: Runlore, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    other.prefer("editor", "vim")
    text = export(other).read_text("utf-8")
    file = tmp_path / "secret.json"
    file.write_text(text.replace("editor: vim", f"editor: {token}"))
    runlore.prefer("language", "English")

    answer = runlore.json("memory", "import", str(file))

    assert (answer["count"], answer["skipped"]) == (0, {"looks like a secret": 1})
    assert token not in json.dumps(runlore.contents())


def _tampered(document: Json) -> Iterator[Json]:
    changes: list[Callable[[Json], object]] = [
        lambda record: record.update(summary="editor: emacs"),
        lambda record: record.update(state="constrained"),
        lambda record: record.update(revision=3),
        lambda record: record.update(record_id="rec_00000000000000000000000000"),
        lambda record: record["metadata"].update(value="emacs"),
        lambda record: record["events"].pop(),
        lambda record: record["events"].clear(),
        lambda record: record["events"].reverse(),
        lambda record: record["events"][1].update(revision=3),
        lambda record: record["events"][1]["changes"].update(state="superseded"),
        lambda record: record["events"][0].update(record_id="rec_x"),
        lambda record: record["events"].append(record["events"][-1]),
        lambda record: record.pop("summary"),
        lambda record: record.pop("events"),
    ]
    for change in changes:
        spoiled = copy.deepcopy(document)
        change(spoiled["records"][0])
        yield spoiled


def _bent(document: Json) -> Iterator[tuple[str, Json]]:
    """The document with one value after another of a wrong type, in the record and in its events alike."""
    record = document["records"][0]
    for field in (name for name in record if name != "events"):
        for value in (5, "nonsense \x00", ["x"], {"x": 1}, None, True, 1e300):
            if type(record[field]) is type(value) or (value is None and field in MAY_BE_NULL):
                continue
            if field == "automation_review" and isinstance(value, dict):
                continue
            bent = copy.deepcopy(document)
            bent["records"][0][field] = value
            for event in bent["records"][0]["events"]:
                if field in event["changes"]:
                    event["changes"][field] = value
            yield f"{field} = {value!r}", bent
    yield from _bent_events(document)


def _bent_events(document: Json) -> Iterator[tuple[str, Json]]:
    values: list[Any] = [5, "nonsense \x00", ["x"], {"x": 1}, None, True]
    for field, present in document["records"][0]["events"][1].items():
        for value in values:
            if type(value) is not type(present):
                bent = copy.deepcopy(document)
                bent["records"][0]["events"][1][field] = value
                yield f"events[1].{field} = {value!r}", bent
