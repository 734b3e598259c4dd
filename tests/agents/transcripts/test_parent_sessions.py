"""A subagent's session names the one whose agent began it, in each agent's own way."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.runs.imported_entries import check_transcript_run
from runlore.domain.runs.journal import ANOTHER_AGENT, WORDS_OF, EventType
from runlore.domain.runs.transcript import ReadCounts, ToldRun
from runlore.domain.serialization.codec import serialize
from runlore.ports.operations.request_reader import read_value
from tests.agents.transcripts.claude_lines import SESSION, Claude
from tests.agents.transcripts.codex_lines import SESSION as THREAD
from tests.agents.transcripts.codex_lines import Codex
from tests.agents.transcripts.opencode_store import Told, put_database, put_files, text
from tests.agents.transcripts.transcript_files import LONG_AGO, dated, local, read, told, write

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("LRN-12")]

CHILD = "019c0000-0000-7000-8000-000000000002"


def parents(runs: Iterable[ToldRun]) -> list[tuple[str, str]]:
    return [(run.source_session, run.parent_session) for run in runs]


def are_linked(child: ToldRun, parent: ToldRun) -> bool:
    return child.parent_id == parent.session_id and parent.parent_id is None


def test_claude_code_subagents_files_name_their_session(tmp_path: Path) -> None:
    [main] = read(write(tmp_path / f"{SESSION}.jsonl", [Claude().user("Go")]))
    side = Claude(isSidechain=True, agentId="a1b2")
    lines = [side.user("Find it"), side.says("Found"), side.user("Once more")]
    runs = read(write(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl", lines))
    assert parents(runs) == [(f"{SESSION}/a1b2", SESSION)] * 2
    assert all(are_linked(run, main) for run in runs)
    [_, later] = runs
    assert read(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl", start=runs[0].after) == [later]


@pytest.mark.parametrize(("folder", "parent"), [("s-7/subagents", "s-7"), ("s-7/others", "")])
def test_where_its_lines_name_no_session_a_subagents_file_lies_under_it(
    tmp_path: Path, folder: str, parent: str
) -> None:
    line = {key: value for key, value in Claude().user("Look").items() if key != "sessionId"}
    [run] = read(write(tmp_path / folder / "agent-9f.jsonl", [{**line, "isSidechain": True}]))
    assert parents([run]) == [("agent-9f/9f", parent)]
    assert (run.parent_id is None) is (not parent)


def test_claude_code_side_lines_name_the_line_that_they_stand_in(tmp_path: Path) -> None:
    claude = Claude()
    side = {"isSidechain": True, "agentId": "one"}
    lines = [
        claude.user("Go"),
        claude.user("Task", **side),
        claude.says("Works", **side),
        claude.says("Done"),
        claude.user("And then"),
        claude.user("Task again", **side),
    ]
    runs = read(write(tmp_path / "s.jsonl", lines))
    child = f"{SESSION}/one"
    assert parents(runs) == [(SESSION, ""), (child, SESSION), (SESSION, ""), (child, SESSION)]
    assert are_linked(runs[1], runs[0])
    # Whoever goes on from the second turn tells the same of it.
    assert parents(read(tmp_path / "s.jsonl", start=runs[1].after)) == parents(runs[2:])


@pytest.mark.parametrize(
    "meta",
    [
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}},
        {"source": {"subagent": "review"}, "parent_thread_id": THREAD},
        {"source": {"subagent": "review"}, "forked_from_id": THREAD},
    ],
)
def test_a_codex_subagent_names_the_thread_that_began_it(tmp_path: Path, meta: dict[str, object]) -> None:
    codex = Codex()
    path = tmp_path / f"rollout-{CHILD}.jsonl"
    lines = [codex.meta(CHILD, **meta), *codex.says("One"), *codex.answers("Yes"), *codex.says("Two")]
    runs = read(write(path, lines))
    assert parents(runs) == [(CHILD, THREAD)] * 2
    [main] = read(write(tmp_path / f"rollout-{THREAD}.jsonl", [codex.meta(), *codex.says("Go")]))
    assert are_linked(runs[0], main)
    assert parents(read(path, start=runs[0].after)) == [(CHILD, THREAD)], "a position knows it too"


@pytest.mark.parametrize(
    "meta", [{}, {"forked_from_id": THREAD}, {"source": "cli"}, {"source": {"subagent": {"other": "x"}}}]
)
def test_a_codex_session_that_a_person_began_or_forked_has_no_parent(
    tmp_path: Path, meta: dict[str, object]
) -> None:
    codex = Codex()
    [run] = read(write(tmp_path / "rollout.jsonl", [codex.meta(CHILD, **meta), *codex.says("One")]))
    assert parents([run]) == [(CHILD, "")]


def test_a_history_that_a_codex_subagent_repeats_stays_the_parents(tmp_path: Path) -> None:
    codex = Codex()
    lines = [
        codex.meta(CHILD, source={"subagent": {"thread_spawn": {"parent_thread_id": THREAD}}}),
        codex.meta(THREAD),
        codex.line("turn_context", {"turn_id": "019c0000-0000-7000-8000-000000000001", "cwd": "/srv"}),
        *codex.says("Old"),
        codex.line("turn_context", {"turn_id": "019c0000-0000-7000-8000-000000000009", "cwd": "/srv"}),
        *codex.says("New"),
    ]
    runs = read(write(tmp_path / f"rollout-{CHILD}.jsonl", lines))
    assert parents(runs) == [(THREAD, ""), (CHILD, THREAD)]


@pytest.mark.parametrize(("place", "parent"), [("chats", ""), ("chats/g-0", "g-0"), ("elsewhere/g-0", "")])
def test_a_gemini_subagent_lies_in_a_folder_of_its_parents_name(
    tmp_path: Path, place: str, parent: str
) -> None:
    path = tmp_path / place / "session.json"
    path.parent.mkdir(parents=True)
    said = {"id": "u1", "timestamp": "2026-02-03T10:00:01Z", "type": "user", "content": "Go"}
    path.write_text(json.dumps({"sessionId": "g-1", "projectHash": "abc", "messages": [said]}))
    [run] = read(dated(path, LONG_AGO))
    assert parents([run]) == [("g-1", parent)]
    [first] = told(run, EventType.INPUT)
    is_anothers = f"'{WORDS_OF}': '{ANOTHER_AGENT}'" in str(first)
    assert is_anothers is bool(parent), "a subagent is asked by its parent"


@pytest.mark.parametrize("is_old", [False, True])
def test_opencode_sessions_name_their_parents_in_files(tmp_path: Path, is_old: bool) -> None:
    child = Told(id="ses_2", parent="ses_1").user(text("Look"))
    assert parents(read(put_files(tmp_path, child, is_old=is_old))) == [("ses_2", "ses_1")]


def test_opencode_sessions_name_their_parents_in_a_database(tmp_path: Path) -> None:
    child = Told(id="ses_2", parent="ses_1").user(text("Look"))
    path = put_database(tmp_path / "opencode.db", Told().user(text("Go")), child)
    found = local().find([str(path)])
    runs = [run for source in found for run in local().read(source, ReadCounts())]
    assert parents(runs) == [("ses_1", ""), ("ses_2", "ses_1")]
    assert are_linked(runs[1], runs[0])


def test_a_parent_with_an_odd_name_is_told_as_it_tells_itself(tmp_path: Path) -> None:
    odd = "/home/somebody's session\x00"
    [main] = read(put_files(tmp_path / "a", Told(id="odd").user(text("Go"))))
    [child] = read(put_files(tmp_path / "b", Told(id="ses_2", parent=odd).user(text("Look"))))
    assert "somebody" not in child.parent_session
    [claude] = read(write(tmp_path / "c.jsonl", [Claude(sessionId=odd).user("Go")]))
    assert claude.source_session == child.parent_session
    assert main.parent_id is None


def test_nobody_is_their_own_parent(tmp_path: Path) -> None:
    [run] = read(put_files(tmp_path, Told(id="ses_1", parent="ses_1").user(text("Go"))))
    assert run.parent_id is None


def test_a_parent_is_sent_and_read_again_and_is_no_longer_than_a_session(tmp_path: Path) -> None:
    [run] = read(put_files(tmp_path, Told(id="ses_2", parent="ses_1").user(text("Look"))))
    plain = serialize(run)
    assert plain["parent_session"] == "ses_1"
    assert read_value(ToldRun, plain).parent_session == "ses_1"
    without = {name: value for name, value in plain.items() if name != "parent_session"}
    assert read_value(ToldRun, without).parent_id is None
    check_transcript_run(replace(run, parent_session="x" * limits.PATH_CHARS_MAX))
    with pytest.raises(Invalid, match="parent_session"):
        check_transcript_run(replace(run, parent_session="x" * (limits.PATH_CHARS_MAX + 1)))
