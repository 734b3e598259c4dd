"""What is kept of how far a transcript was read: nothing that anybody said, named or called something."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from runlore.agents.transcripts.lines import open_unpacked
from runlore.agents.transcripts.local import recall_names
from runlore.domain.runs.transcript import START, Position, ReadCounts, ToldRun
from runlore.domain.text.safe_text import is_storable
from tests.agents.transcripts.claude_lines import SESSION, Claude
from tests.agents.transcripts.codex_lines import Codex, flat
from tests.agents.transcripts.resuming import facts
from tests.agents.transcripts.transcript_files import LONG_AGO, content, dated, inputs, read, write

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("CAP-7")]

WORD = "Kingfisher"


def claude_lines() -> list[object]:
    claude = Claude()
    named = {"cwd": f"/srv/{WORD}", "gitBranch": f"fix/{WORD}"}
    return [
        claude.user(f"Do {WORD}", **named),
        claude.says("Done", **named),
        {"type": "ai-title", "aiTitle": f"About {WORD}", "sessionId": SESSION},
        claude.user(f"Again {WORD}", **named),
        claude.says("Done", **named),
        claude.user(f"<command-name>/deploy</command-name><command-args>{WORD}</command-args>", **named),
    ]


def codex_lines() -> list[object]:
    codex = Codex()
    return flat(
        codex.meta(),
        codex.event("thread_name_updated", thread_name=f"About {WORD}"),
        codex.line("turn_context", {"cwd": f"/srv/{WORD}", "model": "gpt-test", "turn_id": "t1"}),
        codex.says(f"Do {WORD}"),
        codex.answers("Done"),
        codex.says(f"Again {WORD}"),
        codex.answers("Done"),
        codex.says(f"Last {WORD}"),
    )


def aider_lines() -> list[object]:
    began = b"# aider chat started at 2026-02-01 10:00:00"
    words = [f"#### {which} {WORD}  ".encode() for which in ("Do", "Again")]
    return [
        began,
        b"",
        words[0],
        b"",
        b"Done",
        b"",
        words[1],
        b"",
        b"Done",
        b"",
        f"# aider chat started at {WORD}".encode(),
        b"",
        words[0],
        b"",
        b"Done",
    ]


FILES: dict[str, tuple[str, Callable[[], list[object]]]] = {
    "claude": ("s.jsonl", claude_lines),
    "codex": ("rollout.jsonl", codex_lines),
    "aider": (".aider.chat.history.md", aider_lines),
    "plain": ("chat.jsonl", lambda: [{"role": "user", "content": WORD}] * 3),
}


def kept(runs: list[ToldRun], counts: ReadCounts) -> list[Position]:
    return [run.after for run in runs] + ([counts.after] if counts.after else [])


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_position_holds_no_word_of_anybody_and_reading_goes_on_from_it(
    tmp_path: Path, kind: str, is_packed: bool
) -> None:
    name, lines = FILES[kind]
    path = write(tmp_path / WORD / name, lines())
    if is_packed and not name.endswith(".md"):
        packed = path.with_name(f"{name}.gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = dated(packed, LONG_AGO)
    counts = ReadCounts()
    runs = read(path, counts)
    assert len(runs) >= 2
    for position in kept(runs, counts):
        assert WORD not in orjson.dumps(dict(position.carried)).decode()
    for place, run in enumerate(runs):
        assert facts(read(path, start=run.after)) == facts(runs[place + 1 :])


def test_a_slash_command_at_the_end_is_read_again_when_the_model_answers(tmp_path: Path) -> None:
    lines = claude_lines()
    path = write(tmp_path / "s.jsonl", lines)
    runs = read(path)
    claude = Claude()
    write(path, [*lines, claude.says("Deployed", cwd=f"/srv/{WORD}")])
    rest = read(path, start=runs[-1].after)
    assert inputs(rest) == [f"/deploy {WORD}"]
    assert facts([*runs, *rest]) == facts(read(path))


def test_a_folder_that_is_not_found_again_has_the_transcript_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", claude_lines())
    [first, *_] = read(path)
    lost = Position(
        offset=first.after.offset,
        line=first.after.line,
        fingerprint=first.after.fingerprint,
        carried={**first.after.carried, "folder": "0" * 32},
    )
    assert len(read(path, start=lost)) == len(read(path))
    with open_unpacked(str(path)) as file:
        assert recall_names(file, lost, str(path)) == START


@pytest.mark.parametrize("told", ["a\0b", "\ud800", "x" * 5_000])
def test_whatever_a_transcript_names_can_be_kept(tmp_path: Path, told: str) -> None:
    claude = Claude(told)
    lines = [
        claude.user("Do", cwd=told, gitBranch=told, version=told),
        claude.says("Done"),
        claude.user("Again"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for run in read(dated(path, LONG_AGO)):
        values = (run.source_session, run.folder, run.branch, run.title, run.agent_version, run.model)
        assert all(map(is_storable, values))
        assert all(is_storable(str(each)) for pair in run.after.carried.items() for each in pair)


def test_a_title_is_of_the_run_in_which_it_came_and_only_where_all_was_in_one_folder(tmp_path: Path) -> None:
    claude = Claude()
    title = {"type": "ai-title", "aiTitle": "A title", "sessionId": SESSION}
    lines = [
        claude.user("One", cwd="/srv/off"),
        title,
        claude.user("Two", cwd="/srv/on"),
        title,
        claude.user("Three", cwd="/srv/on"),
        title,
    ]
    path = write(tmp_path / "s.jsonl", lines)
    runs = read(path)
    assert [run.title for run in runs] == ["A title", "", ""]
    for place, run in enumerate(runs):
        assert [each.title for each in read(path, start=run.after)] == [
            each.title for each in runs[place + 1 :]
        ]


def test_a_title_in_one_folder_is_told(tmp_path: Path) -> None:
    claude = Claude()
    title = {"type": "ai-title", "aiTitle": "A title", "sessionId": SESSION}
    path = write(tmp_path / "s.jsonl", [claude.user("One"), title, claude.user("Two")])
    assert [run.title for run in read(path)] == ["A title", ""]
    assert content([title]) in path.read_bytes()
