"""Lines of Codex that are left out unparsed: only those, only whole ones, and never two that ran together."""

import json
from pathlib import Path

import pytest

from runlore.agents.transcripts.codex import PASSED_EVENTS, PASSED_ITEMS, is_passed
from runlore.agents.transcripts.parsing import BROKEN
from runlore.domain.runs.transcript import ReadCounts
from tests.agents.transcripts.codex_lines import SESSION, Codex, flat
from tests.agents.transcripts.transcript_files import read, shape

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SKL-3")]

PASSED = [
    *((Codex.event, kind) for kind in sorted(PASSED_EVENTS)),
    *((Codex.item, kind) for kind in sorted(PASSED_ITEMS)),
]
TOLD = [
    *((Codex.event, kind) for kind in ("user_message", "exec_command_end", "turn_aborted", "unheard_of")),
    *((Codex.item, kind) for kind in ("message", "function_call", "function_call_output", "unheard_of")),
    (Codex.line, "session_meta"),
    (Codex.line, "turn_context"),
]


def compact(line: object) -> bytes:
    """A line as Codex itself writes it."""
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def counted(tmp_path: Path, *lines: bytes) -> tuple[list[object], ReadCounts]:
    path = tmp_path / f"rollout-2026-02-03T10-00-00-{SESSION}.jsonl"
    path.write_bytes(b"".join(lines))
    counts = ReadCounts()
    return [shape(run) for run in read(path, counts)], counts


@pytest.mark.parametrize(("makes", "kind"), PASSED, ids=lambda each: getattr(each, "__name__", each))
def test_a_line_that_is_left_out_is_known_by_its_beginning(makes: object, kind: str) -> None:
    assert callable(makes)
    line = compact(makes(Codex(), kind, info={"text": 'what it says, "quoted"'}))
    assert is_passed(line)
    assert is_passed(line.rstrip())
    assert not is_passed(line[: len(line) // 2])
    assert not is_passed(line.rstrip(b"}\n") + b"\n")
    assert not is_passed(line.rstrip() + line)


@pytest.mark.parametrize(("makes", "kind"), TOLD, ids=lambda each: getattr(each, "__name__", each))
def test_a_line_that_may_say_something_is_parsed(makes: object, kind: str) -> None:
    assert callable(makes)
    assert not is_passed(compact(makes(Codex(), kind, **({"payload": {}} if makes is Codex.line else {}))))


def test_what_is_left_out_unparsed_changes_nothing_that_is_told(tmp_path: Path) -> None:
    codex = Codex()
    noise = [makes(codex, kind, turn_id="t1") for makes, kind in PASSED]
    told = flat(codex.meta(), codex.says("Run the tests"), codex.runs("c1", "npm test"), codex.says("Again"))
    mixed = [each for line in told for each in (line, *noise)]
    alone, _ = counted(tmp_path, *map(compact, told))
    runs, counts = counted(tmp_path, *map(compact, mixed))
    assert runs == alone
    assert counts.lines == len(mixed)
    assert counts.skipped == {}


def test_two_lines_that_ran_together_are_counted_as_not_understood(tmp_path: Path) -> None:
    codex = Codex()
    first, second = (compact(codex.event("token_count", info={"total": total})) for total in (1, 2))
    runs, counts = counted(
        tmp_path,
        *map(compact, flat(codex.meta(), codex.says("Run the tests"))),
        first.rstrip() + second,
        first[: len(first) // 2] + second,
    )
    assert len(runs) == 1
    assert counts.skipped == {BROKEN: 2}
