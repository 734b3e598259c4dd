"""Run memories for tests: plain ones, and any there could be."""

from typing import Any

from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.prompts.run_memory import CaptureState, RunMemory
from runlore.domain.run import TERMINAL, ArtifactId, RunId, RunStatus
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from tests.fakes import START
from tests.storage.run_values import at


def memory(run_id: str = "run_1", **fields: Any) -> RunMemory:
    """The memory of a run."""
    given: dict[str, Any] = {
        "session_id": SessionId("ses_1"),
        "captured_at": START,
        "status": RunStatus.COMPLETED,
        "summary": "Request: add a cache\nResult: done",
        "scope_keys": (Scope(ScopeKind.SESSION, "ses_1"), WORKSPACE),
        **fields,
    }
    return RunMemory(run_id=RunId(run_id), **given)


_signs = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
ids = st.text(_signs, min_size=1, max_size=limits.ID_CHARS_MAX)
_scope_ids = st.text(_signs, min_size=1, max_size=20).filter(lambda text: text == text.strip())
_scopes = st.builds(
    Scope, st.sampled_from([ScopeKind.SESSION, ScopeKind.PERSONA, ScopeKind.PROJECT]), _scope_ids
)


def _texts(chars_max: int) -> st.SearchStrategy[str]:
    return st.text(_signs, min_size=1, max_size=chars_max)


memories = st.builds(
    RunMemory,
    session_id=ids.map(SessionId),
    run_id=ids.map(RunId),
    captured_at=st.integers(0, 10**12).map(at),
    status=st.sampled_from(sorted(TERMINAL)),
    summary=_texts(limits.RUN_SUMMARY_CHARS_MAX),
    request_preview=st.none() | _texts(limits.PREVIEW_CHARS_MAX),
    outcome_preview=st.none() | _texts(limits.PREVIEW_CHARS_MAX),
    artifact_ids=st.lists(ids.map(ArtifactId), max_size=3).map(tuple),
    failure_markers=st.lists(_texts(limits.PREVIEW_CHARS_MAX), max_size=3).map(tuple),
    scope_keys=st.lists(_scopes | st.just(WORKSPACE), max_size=4).map(tuple),
    capture=st.sampled_from(CaptureState),
)
