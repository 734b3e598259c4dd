"""Transcripts are found in a stable order; what cannot be read is told, and nothing stops the walk."""

import json
import os
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from runlore.agents.transcripts.discovery import BINARY, EMPTY, NO_READER, NOT_A_FILE, UNREADABLE
from runlore.agents.transcripts.locations import PLACES, KnownLocation
from runlore.domain.errors import Invalid
from runlore.domain.runs.transcript import START, Position, ReadCounts, TranscriptAgent, TranscriptSource
from tests.agents.transcripts.claude_lines import Claude
from tests.agents.transcripts.transcript_files import LONG_AGO, dated, local, read, write

pytestmark = pytest.mark.req("INT-1")


def session(path: Path, name: str = "s") -> Path:
    return write(path, [Claude(name).user("Build it"), Claude(name).says("Built")])


def find(*paths: Path) -> list[TranscriptSource]:
    return list(local().find([str(path) for path in paths]))


def names(sources: list[TranscriptSource]) -> list[str]:
    return [Path(source.path).name for source in sources]


def test_a_folder_is_walked_in_the_order_of_names_whatever_the_disk_says(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "b/10.jsonl", "a.jsonl", "c.jsonl", "b.jsonl", "b/x/1.jsonl"):
        session(tmp_path / name)
    found = [os.path.relpath(source.path, tmp_path) for source in find(tmp_path)]
    assert found == ["a.jsonl", "b/10.jsonl", "b/2.jsonl", "b/x/1.jsonl", "b.jsonl", "c.jsonl"]
    assert {source.agent for source in find(tmp_path)} == {TranscriptAgent.CLAUDE_CODE}


def test_links_that_lead_back_end_and_each_file_is_found_once(tmp_path: Path) -> None:
    session(tmp_path / "a" / "one.jsonl")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "same").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "again.jsonl").symlink_to(tmp_path / "a" / "one.jsonl")
    os.link(tmp_path / "a" / "one.jsonl", tmp_path / "hard.jsonl")
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    (tmp_path / "nothing.jsonl").symlink_to(tmp_path / "gone")

    assert len(find(tmp_path)) == 1
    assert len(find(tmp_path, tmp_path / "a", tmp_path / "a" / "one.jsonl")) == 1


def test_a_path_that_does_not_exist_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(Invalid) as refused:
        local().find([str(tmp_path), str(tmp_path / "missing")])
    assert refused.value.code == "learn.path"
    assert "missing" in refused.value.sentence
    assert refused.value.hint


def test_a_path_through_a_file_and_a_link_to_nothing_are_told_or_refused(tmp_path: Path) -> None:
    session(tmp_path / "one.jsonl")
    with pytest.raises(Invalid):
        local().find([str(tmp_path / "one.jsonl" / "below")])
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    [source] = find(tmp_path / "link")
    assert source.agent is None
    assert source.problem.startswith(UNREADABLE)


def test_what_may_not_be_read_is_told_and_the_walk_goes_on() -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        top.chmod(0o755)
        for name in ("a/one.jsonl", "b/two.jsonl", "c/three.jsonl", "d/four.jsonl"):
            session(top / name)
        (top / "a").chmod(0o000)
        (top / "b" / "two.jsonl").chmod(0o000)
        (top / "c").chmod(0o444)
        told = subprocess.run(
            [sys.executable, "-m", "tests.agents.transcripts.without_rights", folder],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for locked in ("a", "b/two.jsonl", "c"):
            (top / locked).chmod(0o755)
    assert told.splitlines() == [
        f"a|{UNREADABLE}: Permission denied|0|1",
        f"b/two.jsonl|{UNREADABLE}: Permission denied|0|1",
        f"c/three.jsonl|{UNREADABLE}: Permission denied|0|1",
        "d/four.jsonl||1|0",
    ]


def test_special_files_are_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    session(tmp_path / "one.jsonl")
    assert names(find(tmp_path)) == ["one.jsonl"]
    [source] = find(tmp_path / "pipe.jsonl")
    assert source.problem == NOT_A_FILE


def test_a_binary_file_an_empty_one_and_an_unknown_format_are_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\x7fELF\x00\x01\x02" * 100)
    (tmp_path / "b.jsonl").write_bytes(b"")
    (tmp_path / "c.jsonl").write_bytes(b'{"temperature": 3}\n')
    (tmp_path / "d.jsonl").write_bytes(b"[1, 2]\nno json at all\n")
    problems = [(source.agent, source.problem) for source in find(tmp_path)]
    assert problems == [(None, BINARY), (None, EMPTY), (None, NO_READER), (None, NO_READER)]
    for source in find(tmp_path):
        assert list(local().read(source, ReadCounts())) == []


def test_files_of_other_names_are_left_alone_unless_they_are_named(tmp_path: Path) -> None:
    session(tmp_path / "notes.txt")
    (tmp_path / "package.json").write_text('{"name": "shop"}')
    (tmp_path / "README.md").write_text("# Shop")
    session(tmp_path / "node_modules" / "one.jsonl")
    session(tmp_path / ".git" / "one.jsonl")
    assert find(tmp_path) == []
    assert [source.agent for source in find(tmp_path / "notes.txt")] == [TranscriptAgent.CLAUDE_CODE]
    assert [source.problem for source in find(tmp_path / "package.json")] == [NO_READER]


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("Antigravity", {"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT"}),
        ("Copilot CLI", {"type": "session.start", "data": {"sessionId": "c"}, "id": "e1"}),
        ("Copilot CLI", {"type": "user.message", "data": {"content": "Go"}, "id": "e1"}),
        ("Cursor", {"role": "user", "message": {"content": [{"type": "text", "text": "Go"}]}}),
        ("Droid", {"type": "session_start", "id": "d", "cwd": "/w"}),
        ("Droid", {"type": "message", "session_id": "d", "role": "user", "text": "Go"}),
        ("Grok", {"type": "user", "content": [{"type": "text", "text": "Go"}], "prompt_index": 0}),
        ("Kimi", {"type": "metadata", "protocol_version": "1.4", "created_at": 1}),
        ("Pi or OpenClaw", {"type": "session", "version": 3, "id": "p", "cwd": "/w"}),
        (
            "Qwen Code",
            {
                "uuid": "q",
                "parentUuid": None,
                "sessionId": "q",
                "type": "user",
                "cwd": "/w",
                "version": "1",
                "message": {"role": "user", "parts": [{"text": "Go"}]},
            },
        ),
    ],
)
def test_a_known_agent_without_a_reader_is_named(tmp_path: Path, agent: str, line: object) -> None:
    write(tmp_path / "one.jsonl", [line])
    [source] = find(tmp_path)
    assert (source.agent, source.problem, source.looks_like) == (None, NO_READER, agent)


def test_a_document_of_an_agent_without_a_reader_is_named(tmp_path: Path) -> None:
    write(tmp_path / "one.json", [{"session_id": "h", "model": "m", "platform": "cli", "messages": []}])
    assert [source.looks_like for source in find(tmp_path)] == ["Hermes"]


def test_since_leaves_out_what_was_last_changed_before(tmp_path: Path) -> None:
    session(tmp_path / "old.jsonl")
    dated(session(tmp_path / "new.jsonl"), LONG_AGO + timedelta(hours=3))
    found = local().find([str(tmp_path)], since=LONG_AGO + timedelta(hours=1))
    assert names(list(found)) == ["new.jsonl"]
    assert names(list(local().find([str(tmp_path)], since=LONG_AGO))) == ["new.jsonl", "old.jsonl"]


def test_without_paths_the_places_of_the_known_agents_are_walked(tmp_path: Path) -> None:
    session(tmp_path / ".claude" / "projects" / "-home-me-shop" / "one.jsonl")
    session(tmp_path / "elsewhere" / "two.jsonl")
    (tmp_path / ".copilot" / "session-state").mkdir(parents=True)
    found = list(local(home=str(tmp_path)).find([]))
    assert [(Path(source.path).name, source.looks_like) for source in found] == [
        ("one.jsonl", ""),
        ("session-state", "Copilot CLI"),
    ]
    assert found[1].problem == NO_READER
    assert list(local(home=str(tmp_path / "nobody")).find([])) == []


@pytest.mark.parametrize(
    "place", [place for place in PLACES if place.variable], ids=lambda place: place.in_home
)
def test_a_variable_moves_an_agents_place(tmp_path: Path, place: KnownLocation) -> None:
    variable, inside = place.variable, place.in_variable
    session(tmp_path / "moved" / inside / "one.jsonl")
    session(tmp_path / "home" / place.in_home / "two.jsonl")
    moved = local(home=str(tmp_path / "home"), environment={variable: str(tmp_path / "moved")})
    assert names(list(moved.find([]))) == ["one.jsonl"]
    at_home = local(home=str(tmp_path / "home"), environment={variable: ""})
    assert names(list(at_home.find([]))) == ["two.jsonl"]


def test_a_source_tells_its_size_and_when_it_was_changed(tmp_path: Path) -> None:
    path = session(tmp_path / "one.jsonl")
    [source] = find(path)
    assert (source.bytes, source.modified_at, source.problem) == (path.stat().st_size, LONG_AGO, "")


def test_what_was_read_to_its_end_is_not_unread_until_it_changes(tmp_path: Path) -> None:
    path = session(tmp_path / "one.jsonl")
    [source] = find(path)
    [run] = read(path)
    assert local().is_unread(source, START)
    assert not local().is_unread(source, run.after)
    assert local().is_unread(source, Position(offset=3, fingerprint="3:x"))
    with path.open("ab") as file:
        file.write(b"{}\n")
    [grown] = find(path)
    assert local().is_unread(grown, run.after)


@pytest.mark.parametrize("session", ["session_id", "sessionId"])
def test_a_stream_of_droid_is_told_as_such_and_not_read_as_another_agents(
    tmp_path: Path, session: str
) -> None:
    stream: list[dict[str, object]] = [
        {"type": "system", "subtype": "init", "cwd": "/w", "model": "m", "timestamp": "2026-01-01T00:00:00Z"},
        {"type": "message", "role": "user", "text": "Build it"},
        {"type": "tool_call", "toolCallId": "c1", "toolName": "Shell", "parameters": {"command": "make"}},
        {"type": "completion", "finalText": "Built"},
    ]
    (tmp_path / "stream.jsonl").write_text(
        "".join(json.dumps({**line, session: "d1"}) + "\n" for line in stream)
    )

    (source,) = find(tmp_path)

    assert (source.agent, source.problem, source.looks_like) == (None, NO_READER, "Droid")


@pytest.mark.parametrize(
    ("name", "document", "looks_like"),
    [
        (
            "tmp/ab12/logs.json",
            [{"sessionId": "s", "messageId": 0, "type": "user", "message": "Go", "timestamp": "2025-07-01"}],
            "Gemini CLI, its log of requests",
        ),
        (
            "tmp/ab12/checkpoint-one.json",
            [{"role": "user", "parts": [{"text": "Go"}]}, {"role": "model", "parts": [{"text": "Done"}]}],
            "Gemini CLI, an older history",
        ),
        (
            "part/msg_1/prt_1.json",
            {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "Go"},
            "opencode, without the file of the session that it is of",
        ),
    ],
)
def test_what_an_agent_wrote_in_an_older_form_is_told_with_what_it_is(
    tmp_path: Path, name: str, document: object, looks_like: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document, indent=2))

    (source,) = find(tmp_path)

    assert (source.agent, source.problem, source.looks_like) == (None, NO_READER, looks_like)


def test_a_log_of_requests_beside_whole_sessions_is_not_worth_a_word(tmp_path: Path) -> None:
    (tmp_path / "chats").mkdir()
    told = [{"sessionId": "s", "messageId": 0, "type": "user", "message": "Go"}]
    (tmp_path / "logs.json").write_text(json.dumps(told))

    assert find(tmp_path) == []


def test_a_session_of_opencode_whose_messages_hold_their_parts_is_told_as_an_older_form(
    tmp_path: Path,
) -> None:
    session = tmp_path / "storage" / "session"
    for name, document in (
        ("info/ses_1.json", {"id": "ses_1", "title": "Build", "time": {"created": 1, "updated": 2}}),
        ("message/ses_1/msg_1.json", {"id": "msg_1", "role": "user", "parts": [{"type": "text"}]}),
    ):
        (session / name).parent.mkdir(parents=True, exist_ok=True)
        (session / name).write_text(json.dumps(document))

    (source,) = find(tmp_path)

    assert (source.agent, source.looks_like, "older form" in source.problem) == (None, "opencode", True)
