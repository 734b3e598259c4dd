"""Run memory: built from durable state, redacted before it is cut, bounded, and the same every time."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Corrupt
from runlore.domain.prompts.run_memory import CaptureState, RunMemory, RunText, build_run_memory, pointer_to
from runlore.domain.run import TERMINAL, ArtifactId, Run, RunStatus
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.storage.run_memory_body import FORMAT, deserialize_memory, serialize_memory
from tests.fakes import START
from tests.storage.run_memory_values import memories, memory
from tests.storage.run_values import run, session

SCOPES = (Scope(ScopeKind.SESSION, "s"), Scope(ScopeKind.PROJECT, "acme"), WORKSPACE)
KEY = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
texts = st.text(max_size=400) | st.text("ab 1-.@+\n\u0301👍🏽", max_size=900)


def ended(status: RunStatus = RunStatus.COMPLETED, **fields: Any) -> Run:
    """A run that has ended."""
    return run(session("s"), "run_1", status=status, **fields)


def built(of: Run, request: str = "", outcome: str = "", *, redact_pii: bool = True) -> RunMemory:
    """The memory of a run."""
    return build_run_memory(
        of, RunText(request=request, outcome=outcome), SCOPES, redact_pii=redact_pii
    ).memory


@pytest.mark.req("RUN-1", "RUN-2")
def test_a_memory_holds_what_the_run_and_its_journal_say() -> None:
    of = ended(finished_at=START + timedelta(seconds=5, microseconds=1_700), artifact_ids=("a", "b", "a"))

    assert built(of, " add a cache\n", "Done. ") == RunMemory(
        session_id=of.session_id,
        run_id=of.run_id,
        captured_at=START + timedelta(seconds=5, milliseconds=1),
        status=RunStatus.COMPLETED,
        summary="Request: add a cache\nResult: Done.",
        request_preview="add a cache",
        outcome_preview="Done.",
        artifact_ids=(ArtifactId("a"), ArtifactId("b")),
        scope_keys=SCOPES,
        capture=CaptureState.SKIPPED,
    )


@pytest.mark.req("RUN-2")
@pytest.mark.parametrize(
    ("of", "told", "summary", "markers"),
    [
        (ended(), ("", ""), "The run completed without a reply.", ()),
        (ended(), ("do it", " "), "Request: do it\nThe run completed without a reply.", ()),
        (ended(error="ignored"), ("", "ok"), "Result: ok", ()),
        (ended(RunStatus.FAILED), ("", ""), "The run failed.", ("failed",)),
        (
            ended(RunStatus.FAILED, error="disk full"),
            ("do it", "trying"),
            "Request: do it\nResult: trying\nThe run failed: disk full",
            ("failed", "error: disk full"),
        ),
        (
            ended(RunStatus.INTERRUPTED, reason="the session ended"),
            ("do it", ""),
            "Request: do it\nThe run was interrupted: the session ended",
            ("interrupted", "reason: the session ended"),
        ),
        (
            ended(RunStatus.FAILED, error="e", reason="r"),
            ("", ""),
            "The run failed: e",
            ("failed", "error: e", "reason: r"),
        ),
        (ended(RunStatus.CANCELLED), ("", ""), "The run was cancelled.", ("cancelled",)),
    ],
)
def test_the_summary_is_request_result_and_how_it_ended(
    of: Run, told: tuple[str, str], summary: str, markers: tuple[str, ...]
) -> None:
    memory = built(of, *told)

    assert (memory.summary, memory.failure_markers) == (summary, markers)
    assert (memory.request_preview, memory.outcome_preview) == tuple(text.strip() or None for text in told)


@pytest.mark.req("RUN-1", "RUN-3")
@given(
    status=st.sampled_from(sorted(TERMINAL)),
    told=st.tuples(texts, texts, texts, texts),
    redact_pii=st.booleans(),
)
def test_every_memory_is_bounded_storable_and_the_same_every_time(
    status: RunStatus, told: tuple[str, str, str, str], redact_pii: bool
) -> None:
    request, outcome, error, reason = (
        text.replace("\0", "").encode(errors="replace").decode() for text in told
    )
    of = ended(status, error=error, reason=reason)
    memory = built(of, request, outcome, redact_pii=redact_pii)

    assert 0 < len(memory.summary) <= limits.RUN_SUMMARY_CHARS_MAX
    for text in (memory.request_preview, memory.outcome_preview, *memory.failure_markers):
        assert text is None or 0 < len(text) <= limits.PREVIEW_CHARS_MAX
    assert (memory.failure_markers == ()) is (status is RunStatus.COMPLETED)
    assert built(of, request, outcome, redact_pii=redact_pii) == memory
    assert deserialize_memory(serialize_memory(memory)) == memory


@pytest.mark.req("RUN-3")
@pytest.mark.parametrize("offset", range(120, 165))
def test_redaction_comes_before_the_cut(offset: int) -> None:
    for hidden in ("jane.doe@example.com", KEY):
        text = "x" * offset + " " + hidden + " and more that follows"
        memory = built(ended(RunStatus.FAILED, error=text, reason=text), text, text)

        shown = (memory.summary, memory.request_preview, memory.outcome_preview, *memory.failure_markers)
        assert not any(part in (field or "") for field in shown for part in ("jane", "doe", "ghp_"))


@pytest.mark.req("RUN-3")
def test_personal_data_stays_where_the_policy_says_so_and_secrets_never() -> None:
    memory = built(ended(), f"mail jane@example.com {KEY}", "ok", redact_pii=False)

    assert memory.request_preview == "mail jane@example.com <redacted:github-token>"
    assert built(ended(), "mail jane@example.com").request_preview == "mail <redacted:email>"


@pytest.mark.req("RUN-3")
def test_previews_hold_160_characters_and_the_summary_480_with_an_ellipsis_where_cut() -> None:
    memory = built(ended(RunStatus.FAILED, error="e" * 500), "q" * 160, "a" * 161)

    assert memory.request_preview == "q" * 160
    assert memory.outcome_preview == "a" * 159 + "…"
    assert memory.failure_markers == ("failed", "error: " + "e" * 152 + "…")
    assert len(memory.summary) == 480
    assert memory.summary.endswith("…")
    family = "👨\u200d👩\u200d👧\u200d👦"
    assert built(ended(), family * 30).request_preview == family * 22 + "…"


@pytest.mark.req("RUN-3", "OPS-1")
@pytest.mark.parametrize(
    ("request_text", "outcome", "error", "fields"),
    [
        ("hi", "ok", "", 0),
        ("jane@example.com bob@example.com", "ok", "", 1),
        ("jane@example.com", KEY, "10.1.2.3", 3),
        ("was <redacted:jwt> when journalled", "ok", "", 1),
    ],
)
def test_fields_that_lost_something_are_counted(
    request_text: str, outcome: str, error: str, fields: int
) -> None:
    of = ended(RunStatus.FAILED, error=error)
    result = build_run_memory(of, RunText(request=request_text, outcome=outcome), SCOPES, redact_pii=True)

    assert result.redacted_fields == fields


@pytest.mark.req("RUN-10")
def test_a_receipt_changes_alone_and_the_pointer_carries_it() -> None:
    of = build_run_memory(ended(), RunText(), SCOPES, redact_pii=True, capture=CaptureState.PENDING).memory
    later = of.with_capture(CaptureState.COMPLETED)

    assert of.capture is CaptureState.PENDING
    assert replace(later, capture=CaptureState.PENDING) == of
    pointer = pointer_to(later)
    assert (pointer.run_id, pointer.session_id, pointer.captured_at) == (
        of.run_id,
        of.session_id,
        of.captured_at,
    )
    assert (pointer.scope_keys, pointer.capture) == (SCOPES, CaptureState.COMPLETED)


@pytest.mark.req("RUN-1")
def test_more_artifacts_than_a_run_can_have_are_left_out() -> None:
    many = tuple(ArtifactId(f"art_{number}") for number in range(limits.RUN_ARTIFACTS_MAX + 5))

    assert built(ended(artifact_ids=many)).artifact_ids == many[: limits.RUN_ARTIFACTS_MAX]


@pytest.mark.req("RUN-4")
@given(one=memories)
def test_the_plain_form_leads_back_to_the_memory(one: RunMemory) -> None:
    plain = serialize_memory(one)

    assert plain["format"] == FORMAT
    assert deserialize_memory(plain) == one


DAMAGED: dict[str, list[object]] = {
    "format": [0, 2, "1", None, True],
    "session_id": ["", 1, None, "x" * 201, "\0", "\ud800"],
    "run_id": ["", 1, None, "x" * 201],
    "captured_at": ["", 1, "yesterday", "2026-01-01", "2026-01-01T00:00:00.000+01:00"],
    "status": ["running", "queued", "done", 1, None],
    "summary": ["", None, 1, "x" * 481],
    "request_preview": ["", None, 1, "x" * 161],
    "outcome_preview": ["", None, [], "x" * 161],
    "artifact_ids": ["a", None, [1], [""], ["a"] * 201, {"a": 1}],
    "failure_markers": ["a", None, [1], ["x" * 161], ["a"] * 4],
    "scope_keys": [
        "a",
        None,
        [1],
        ["galaxy:x"],
        ["workspace:x"],
        ["project: x"],
        ["project:"],
        ["project:x"] * 68,
    ],
    "capture": ["", "done", None, 1],
    "more": [1],
}
DAMAGE = [(name, value) for name, values in DAMAGED.items() for value in values]


@pytest.mark.req("RUN-4", "RUN-6")
@pytest.mark.parametrize(("name", "value"), DAMAGE)
def test_a_plain_form_that_is_not_as_it_was_written_is_damaged(name: str, value: object) -> None:
    with pytest.raises(Corrupt) as damaged:
        deserialize_memory({**serialize_memory(memory()), name: value})

    assert damaged.value.code == "run-memory.damaged"
    assert name in damaged.value.sentence


@pytest.mark.req("RUN-4", "RUN-6")
def test_a_missing_field_or_another_kind_of_value_is_damaged() -> None:
    plain = serialize_memory(memory())
    others: list[object] = [[], None, "x", 1, {}]
    others += [{key: plain[key] for key in plain if key != name} for name in plain]
    for broken in others:
        with pytest.raises(Corrupt):
            deserialize_memory(broken)
