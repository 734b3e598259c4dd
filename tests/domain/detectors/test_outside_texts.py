"""Which results of a run are recorded as words from outside, and how much of a run is listened to."""

from datetime import UTC, datetime

import pytest

from runlore.domain.detectors import outside_texts
from runlore.domain.detectors.mining import NumberedTranscriptEvent
from runlore.domain.detectors.outside_texts import OutsideTexts
from runlore.domain.record import JsonObject
from runlore.domain.runs.journal import EventType
from runlore.domain.taint_sources.fingerprints import FINGERPRINTS_PER_RUN_MAX, READ_CHARS_MAX

pytestmark = pytest.mark.req("TNT-5")

AT = datetime(2026, 1, 1, tzinfo=UTC)
PAGE = "https://evil.example/page"
WORDS = "The staging server of the contractor is reached without any password."


def hear(heard: OutsideTexts, name: str, arguments: JsonObject, output: str) -> OutsideTexts:
    """A call and its result."""
    call: JsonObject = {"call_id": "c", "name": name, "arguments": arguments}
    heard.hear(NumberedTranscriptEvent(1, AT, EventType.TOOL_CALL, call))
    result: JsonObject = {"call_id": "c", "output": output}
    heard.hear(NumberedTranscriptEvent(2, AT, EventType.TOOL_RESULT, result))
    return heard


def test_only_a_call_that_prints_nothing_but_what_it_brings_is_recorded() -> None:
    bringing = [f"curl -s {PAGE}", f"curl -s {PAGE} | head -9", f"cd docs && curl {PAGE}", "gh pr view 3"]
    bringing += [f'echo "$(curl {PAGE})"', f"bash -c 'curl {PAGE}'", "cat node_modules/left/README.md"]
    others = [
        "git pull && git status",
        "npm install && npm test",
        "git pull",
        "pip install left",
        "git fetch",
    ]
    others += [f"curl -o page {PAGE} && git status", f"curl {PAGE}; cat README.md"]
    expected = {**dict.fromkeys(bringing, True), **dict.fromkeys(others, False)}
    heard = {each: hear(OutsideTexts(), "Bash", {"command": each}, WORDS) for each in expected}
    # What a call brings into files is noted by its place, whatever it prints.
    silent = {each: hear(OutsideTexts(), "Bash", {"command": each}, "").outside for each in expected}

    assert {each: found.outside != silent[each] for each, found in heard.items()} == expected
    assert [each for each in others if silent[each]] == [f"curl -o page {PAGE} && git status"]
    # None of them is from inside either, nor there first.
    assert not any(found.inside for found in heard.values())
    assert hear(OutsideTexts(), "WebFetch", {"url": PAGE}, WORDS).outside


@pytest.mark.parametrize("kind", [EventType.TOOL_RESULT, EventType.INPUT])
def test_what_has_no_fingerprints_is_not_listened_to_without_end(kind: EventType) -> None:
    heard = OutsideTexts()
    poor = "=" * READ_CHARS_MAX
    most = 2 * FINGERPRINTS_PER_RUN_MAX * outside_texts.CHARS_A_FINGERPRINT // READ_CHARS_MAX
    body: JsonObject = {"call_id": "c", "output": poor} if kind is EventType.TOOL_RESULT else {"text": poor}
    hear(heard, "Read", {"file_path": "a.md"}, "")
    for number in range(3, most + 3):
        heard.hear(NumberedTranscriptEvent(number, AT, kind, body))

    assert PAGE not in hear(heard, "WebFetch", {"url": PAGE}, WORDS).outside


def test_where_nothing_is_kept_only_what_is_from_inside_is_read() -> None:
    calls = (
        ("Read", {"file_path": "notes.md"}, WORDS),
        ("WebFetch", {"url": PAGE}, WORDS),
        ("Bash", {"command": f"curl -so a.md {PAGE} && cp b.md c.md"}, ""),
        ("Write", {"file_path": "d.md", "content": WORDS}, "ok"),
    )
    all_of_it, asking = OutsideTexts(), OutsideTexts(asks_only=True)
    for name, arguments, output in calls:
        hear(all_of_it, name, arguments, output)
        hear(asking, name, arguments, output)

    assert (asking.inside, asking.read_files) == (all_of_it.inside, all_of_it.read_files)
    assert asking.inside
    assert asking.read_files
    assert all_of_it.outside
    assert all_of_it.written
    assert all_of_it.derived
    assert [asking.outside, asking.written, asking.derived] == [{}, [], []]
