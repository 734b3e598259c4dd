"""Sessions of opencode: a tree of files, or a database that may be in use."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from runlore.agents.transcripts.opencode import UNREADABLE
from runlore.agents.transcripts.parsing import BROKEN, NO_OBJECT, UNKNOWN
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.runs.transcript import START, ReadCounts, ToldRun, TranscriptAgent, TranscriptSource
from tests.agents.transcripts.opencode_store import CREATED, Told, bash, insert, put_database, put_files, text
from tests.agents.transcripts.resuming import facts, in_two_goes
from tests.agents.transcripts.told_runs import outcomes
from tests.agents.transcripts.transcript_files import inputs, local, read, shape

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SKL-3")]


def session() -> Told:
    return (
        Told()
        .user(text("Run the tests"), {"type": "file", "filename": "a.py", "mime": "text/plain"})
        .assistant(
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm"},
            text("I will"),
            bash("c1", "npm test", output="12 passed\n", metadata={"exit": 0}),
            {"type": "step-finish", "reason": "tool-calls", "tokens": {}},
        )
        .assistant(text("They pass"), {"type": "patch", "hash": "1", "files": []})
        .user(text("Now lint"))
        .assistant(bash("c2", "npm run lint", output="3 problems", metadata={"exit": 1}))
    )


FORMS: dict[str, Callable[[Path, Told], Path]] = {
    "files": lambda folder, told: put_files(folder / "storage", told),
    "old files": lambda folder, told: put_files(folder / "storage", told, is_old=True),
    "database": lambda folder, told: put_database(folder / "opencode.db", told),
    "logged database": lambda folder, told: put_database(folder / "opencode.db", told, mode="wal"),
}


def runs_of(tmp_path: Path, told: Told, counts: ReadCounts | None = None) -> list[ToldRun]:
    return read(put_files(tmp_path / "storage", told), counts)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("form", FORMS)
def test_one_input_is_one_run_with_what_followed_it(tmp_path: Path, form: str) -> None:
    counts = ReadCounts()
    path = FORMS[form](tmp_path, session())
    before = names(tmp_path)
    first, second = read(path, counts)
    assert shape(first) == [
        ("input", "Run the tests"),
        ("assistant_message", "I will"),
        ("tool_call", "bash"),
        ("tool_result", "12 passed\n"),
        ("assistant_message", "They pass"),
    ]
    assert outcomes(first) == [("12 passed\n", 0, None)]
    assert outcomes(second) == [("3 problems", 1, None)]
    assert (first.agent, first.source_session) == (TranscriptAgent.OPENCODE, "ses_1")
    assert [(run.ordinal, run.first_number) for run in (first, second)] == [(1, 2), (2, 8)]
    assert (first.folder, first.title, first.agent_version) == ("/srv/shop", "Building", "1.2.3")
    assert first.model == "gpt-test"
    assert first.events[0].at is not None
    assert first.events[0].at.timestamp() == CREATED / 1000
    assert (counts.lines, counts.skipped) == (16, {})
    assert counts.bytes > 0
    for run in (first, second):
        for event in run.events[1:]:
            parse_entry({"type": event.entry.type.value, **event.entry.body})
    # Nothing was written there.
    assert names(tmp_path) == before


def test_all_forms_tell_the_same(tmp_path: Path) -> None:
    told_by = []
    for form, put in FORMS.items():
        folder = tmp_path / form
        folder.mkdir()
        told_by.append(facts(read(put(folder, session()))))
    assert all(each == told_by[0] for each in told_by)


def test_a_folder_of_files_is_one_source_for_each_session(tmp_path: Path) -> None:
    for id in ("ses_a", "ses_b"):
        put_files(tmp_path / "storage", Told(id).user(text("Go")).assistant(text("Yes")))
    put_files(tmp_path / "older", Told("ses_c").user(text("Go")).assistant(text("Yes")), is_old=True)
    sources = list(local().find([str(tmp_path)]))
    assert [Path(source.path).stem for source in sources] == ["ses_c", "ses_a", "ses_b"]
    assert all(source.agent is TranscriptAgent.OPENCODE for source in sources)


@pytest.mark.parametrize("is_old", [False, True])
def test_a_message_or_a_part_that_is_named_alone_is_told_as_not_read(tmp_path: Path, is_old: bool) -> None:
    put_files(tmp_path / "a", Told("ses_a").user(text("Go")).assistant(text("Yes")), is_old=is_old)
    (standing,) = local().find([str(tmp_path)])
    others = [str(path) for path in tmp_path.rglob("*.json") if str(path) != standing.path]
    told = list(local().find(others))
    assert len(told) == len(others) > 2
    assert {(source.agent, source.looks_like) for source in told} == {(None, "opencode")}
    assert all("name the folder" in source.problem for source in told)


def test_a_database_is_one_source_for_each_session(tmp_path: Path) -> None:
    sessions = [Told(id).user(text(f"I am {id}")) for id in ("ses_b", "ses_a")]
    path = put_database(tmp_path / "opencode.db", *sessions, Told("ses_empty"))
    sources = list(local().find([str(tmp_path)]))
    assert [source.part for source in sources] == ["ses_a", "ses_b", "ses_empty"]
    assert {source.path for source in sources} == {str(path)}
    read_in = [inputs(local().read(source, ReadCounts())) for source in sources]
    assert read_in == [["I am ses_a"], ["I am ses_b"], []]
    assert sources[0].bytes > 0
    assert sources[0].modified_at.timestamp() == (CREATED + 1) / 1000


def one_source(path: Path) -> TranscriptSource:
    [source] = local().find([str(path)])
    return source


def test_a_database_is_read_while_it_is_written(tmp_path: Path) -> None:
    path = put_database(tmp_path / "opencode.db", session().first(3), mode="wal")
    writer = apsw.Connection(str(path))
    writer.execute("PRAGMA wal_autocheckpoint=0")
    with writer:
        insert(writer, session())
    writer.execute("BEGIN IMMEDIATE")
    insert(writer, Told("ses_2").user(text("Not yet")))
    before = names(tmp_path)
    assert before == ["opencode.db", "opencode.db-shm", "opencode.db-wal"]
    runs = list(local().read(one_source(path), ReadCounts()))
    assert inputs(runs) == ["Run the tests", "Now lint"]
    assert names(tmp_path) == before
    writer.execute("COMMIT")
    assert [source.part for source in local().find([str(path)])] == ["ses_1", "ses_2"]
    writer.close()
    assert names(tmp_path) == ["opencode.db"]


def test_a_log_that_was_left_behind_is_read_and_nothing_appears_beside_it(tmp_path: Path) -> None:
    path = put_database(tmp_path / "opencode.db", session().first(3), mode="wal")
    writer = apsw.Connection(str(path))
    writer.execute("PRAGMA wal_autocheckpoint=0")
    with writer:
        insert(writer, session())
    left = tmp_path / "left"
    left.mkdir()
    for name in ("opencode.db", "opencode.db-wal"):
        shutil.copy(tmp_path / name, left / name)
    writer.close()
    runs = list(local().read(one_source(left / "opencode.db"), ReadCounts()))
    assert inputs(runs) == ["Run the tests", "Now lint"]
    assert names(left) == ["opencode.db", "opencode.db-wal"]


def test_a_database_that_cannot_be_read_is_told_as_such(tmp_path: Path) -> None:
    path = put_database(tmp_path / "opencode.db", session())
    source = one_source(path)
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * 8_000)
    [found] = local().find([str(path)])
    assert (found.agent, found.problem) == (None, UNREADABLE)
    counts = ReadCounts()
    assert list(local().read(source, counts)) == []
    assert counts.skipped == {UNREADABLE: 1}


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "other.db"))
    connection.execute("CREATE TABLE session (id text)")
    connection.close()
    assert all(source.agent is None for source in local().find([str(tmp_path)]))


@pytest.mark.req("CAP-6")
def test_what_the_harness_adds_is_not_told(tmp_path: Path) -> None:
    [run] = runs_of(
        tmp_path,
        Told()
        .user(text("Called the Read tool with a.py", synthetic=True), text("Build it"))
        .assistant(
            text("Continue", synthetic=True),
            bash("c1", "make", output="a<system-reminder>b</system-reminder>"),
        )
        .user(text("Continue if you have next steps", synthetic=True), {"type": "compaction", "auto": True})
        .assistant(text("What we did so far"), summary=True)
        .user(text("<system-reminder>plan mode</system-reminder>"))
        .user(text("hidden", ignored=True))
        .assistant(text("Built")),
    )
    assert shape(run) == [
        ("input", "Build it"),
        ("tool_call", "bash"),
        ("tool_result", "a"),
        ("assistant_message", "Built"),
    ]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"status": "running", "output": None}, []),
        ({"status": "pending"}, []),
        (
            {"status": "error", "error": "The user rejected permission to use this tool", "output": None},
            [("The user rejected permission to use this tool", None, True)],
        ),
        ({"output": "out", "metadata": {"exit": None}}, [("out", None, None)]),
        ({"output": "out", "metadata": {"exit": 137}}, [("out", 137, None)]),
        ({"output": ["a", "b"], "metadata": 7}, [("a\nb", None, None)]),
    ],
)
def test_what_became_of_a_call_is_told_as_far_as_it_is_known(
    tmp_path: Path, state: dict[str, object], expected: list[object]
) -> None:
    [run] = runs_of(tmp_path, Told().user(text("Go")).assistant(bash("c1", "make", **state)))
    assert outcomes(run) == expected


def test_a_turn_that_was_stopped_or_failed_says_so(tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path,
        Told()
        .user(text("One"))
        .assistant(error={"name": "MessageAbortedError"})
        .user(text("Two"))
        .assistant(text("Hm"), error={"name": "APIError"})
        .user(text("Three")),
    )
    assert [run.status for run in runs] == [RunStatus.INTERRUPTED, RunStatus.FAILED, RunStatus.COMPLETED]


def test_what_is_not_understood_is_counted_and_harms_nothing(tmp_path: Path) -> None:
    counts = ReadCounts()
    odd = (
        Told()
        .user(text("Go"), {"type": "telepathy"})
        .assistant("{cut", "[]", {"type": "telepathy"}, {"type": "tool", "callID": "c1"}, text("Done"))
    )
    odd.messages.append(({"id": "msg_z", "role": "oracle", "time": {"created": CREATED + 9_000}}, []))
    [run] = runs_of(tmp_path, odd, counts)
    assert shape(run) == [("input", "Go"), ("assistant_message", "Done")]
    assert counts.skipped == {BROKEN: 1, NO_OBJECT: 1, UNKNOWN: 4}
    counts = ReadCounts()
    assert facts(
        list(local().read(one_source(put_database(tmp_path / "opencode.db", odd)), counts))
    ) == facts([run])
    assert counts.skipped == {BROKEN: 1, NO_OBJECT: 1, UNKNOWN: 4}


def test_an_id_that_leads_out_of_its_folder_leads_nowhere(tmp_path: Path) -> None:
    path = put_files(tmp_path / "storage", Told().user(text("Go")))
    message = '{"id":"../elsewhere","role":"user","time":{"created":1}}'
    (tmp_path / "storage" / "message" / "ses_1" / "msg_x.json").write_text(message)
    (tmp_path / "storage" / "elsewhere").mkdir()
    (tmp_path / "storage" / "elsewhere" / "prt_1.json").write_text('{"type":"text","text":"Not mine"}')
    assert inputs(read(path)) == ["Go"]


@pytest.mark.parametrize("form", ["files", "old files"])
@pytest.mark.parametrize("cut", range(6))
def test_files_that_are_read_while_they_are_written_tell_the_same_in_the_end(
    tmp_path: Path, form: str, cut: int
) -> None:
    path = FORMS[form](tmp_path, session().first(cut))

    def put(is_whole: bool) -> None:
        FORMS[form](tmp_path, session() if is_whole else session().first(cut))

    twice, once = in_two_goes(path, TranscriptAgent.OPENCODE, put=put)
    assert facts(twice) == facts(once)


@pytest.mark.parametrize("cut", range(6))
def test_a_database_that_grows_tells_what_is_new(tmp_path: Path, cut: int) -> None:
    path = put_database(tmp_path / "opencode.db", session().first(cut))
    early = one_source(path)
    before = list(local().read(early, ReadCounts()))
    connection = apsw.Connection(str(path))
    with connection:
        insert(connection, session())
    connection.close()
    source = one_source(path)
    start = before[-2].after if len(before) > 1 else START
    if before:
        assert local().is_unread(source, before[-1].after) == (cut < 5)
    rest = list(local().read(source, ReadCounts(), start))
    assert facts([*before[:-1], *rest]) == facts(list(local().read(source, ReadCounts())))
