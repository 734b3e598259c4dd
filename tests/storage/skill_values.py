"""Mined runs, suggestions and positions for the store's tests: plain ones, and any there could be."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import (
    CommandKind,
    MinedRun,
    Outcome,
    OutsideRead,
    Step,
    StepCommand,
    UserRequest,
)
from runlore.domain.run import Run, RunId
from runlore.domain.runs.transcript import Position
from runlore.domain.session import SessionId
from runlore.domain.skill import SuggestionId
from runlore.domain.suggestion import (
    Parameter,
    Score,
    ScorePart,
    StoredSuggestion,
    Suggestion,
    SuggestionEvidence,
    SuggestionState,
    Trigger,
)
from runlore.domain.taint import TRUSTED, Provenance
from tests.fakes import START
from tests.storage.run_values import at, moments, texts

_numbers = st.integers(0, 2**31)
_commands = st.builds(
    StepCommand,
    text=texts,
    form=texts,
    topic=texts,
    verb=texts,
    values=st.lists(texts, max_size=2).map(tuple),
    is_looking=st.booleans(),
    kind=st.sampled_from(CommandKind),
)


def mined_of(of: Run, number: int = 1, **fields: Any) -> MinedRun:
    """What was mined of a run that was asked for in an event."""
    asked = UserRequest(run_id=of.run_id, number=number, at=START, text="build it", own="build it")
    found = MinedRun(
        session_id=of.session_id,
        run_id=of.run_id,
        agent="codex",
        project="",
        at=START,
        request=asked,
        steps=(),
    )
    return replace(found, **fields)


def any_mined_of(of: Run) -> st.SearchStrategy[MinedRun]:
    """Anything that could be mined of a run."""
    steps = st.builds(
        Step,
        run_id=st.just(of.run_id),
        number=_numbers,
        result_number=_numbers,
        at=moments,
        text=texts,
        outcome=st.sampled_from(Outcome),
        exit_code=st.none() | st.integers(-(2**31), 2**31),
        error=texts,
        commands=st.lists(_commands, max_size=2).map(tuple),
    )
    requests = st.builds(
        UserRequest, run_id=st.just(of.run_id), number=_numbers, at=moments, text=texts, own=texts
    )
    return st.builds(
        MinedRun,
        session_id=st.just(of.session_id),
        run_id=st.just(of.run_id),
        agent=texts,
        project=texts,
        at=moments,
        request=st.none() | requests,
        steps=st.lists(steps, max_size=3).map(tuple),
        outside=st.lists(st.builds(OutsideRead, number=_numbers, source=texts), max_size=2).map(tuple),
        left_out=_numbers,
    )


def seen(run_id: str, session_id: str = "one", **fields: Any) -> SuggestionEvidence:
    """One time that something was seen."""
    found = SuggestionEvidence(
        session_id=SessionId(session_id), run_id=RunId(run_id), event_numbers=(3, 5), at=START
    )
    return replace(found, **fields)


def suggested(name: str = "procedure-build", *runs: str, **fields: Any) -> Suggestion:
    """A suggestion with evidence in some runs."""
    found = Suggestion(
        name=name,
        description="Builds the project.",
        heuristic=Heuristic.MULTI_STEP,
        pattern=f"pattern of {name}",
        commands=("npm ci", "npm run build"),
        trigger=Trigger(topic="build", actions=("build",)),
        body="# Overview\n",
        evidence=tuple(map(seen, runs or ("run_1",))),
        score=Score(points=60, parts=(ScorePart(reason="it worked", points=60),)),
    )
    return replace(found, **fields)


def stored(number: int = 1, suggestion: Suggestion | None = None, **fields: Any) -> StoredSuggestion:
    """A suggestion that waits."""
    found = StoredSuggestion(
        suggestion_id=SuggestionId(f"sug_{number:02}"),
        suggestion=suggestion or suggested(f"procedure-{number}"),
        created_at=START,
        updated_at=START,
    )
    return replace(found, **fields)


def moved(before: StoredSuggestion, **fields: Any) -> StoredSuggestion:
    """The same at its next revision."""
    return replace(before, **{"revision": before.revision + 1, "updated_at": at(before.revision), **fields})


_evidence = st.builds(
    SuggestionEvidence,
    session_id=st.sampled_from(("one", "two:'?")).map(SessionId),
    run_id=st.integers(0, 5).map(lambda number: RunId(f"run_{number}")),
    event_numbers=st.lists(st.integers(0, 10**9), max_size=3).map(tuple),
    at=moments,
    project=texts,
)
_provenances = st.just(TRUSTED) | st.builds(
    Provenance,
    untrusted=st.booleans(),
    needs_review=st.booleans(),
    sources=st.lists(texts, max_size=2).map(tuple),
)
# Few names and patterns, so that they clash; and points that are equal often.
suggestions = st.builds(
    Suggestion,
    name=st.sampled_from(("procedure-build", "procedure-test", "error-npm", "it's ?")),
    description=texts,
    heuristic=st.sampled_from(Heuristic),
    pattern=st.sampled_from(("make <file>", "npm ci && npm test", "雨 ? '", "cargo test")),
    commands=st.lists(texts, max_size=2).map(tuple),
    trigger=st.builds(Trigger, topic=texts, actions=st.lists(texts, max_size=2).map(tuple)),
    body=texts,
    evidence=st.lists(_evidence, max_size=3).map(tuple),
    provenance=_provenances,
    score=st.builds(
        Score,
        points=st.sampled_from((0, 50, 51, 100)),
        parts=st.lists(st.builds(ScorePart, reason=texts, points=st.integers(-100, 100)), max_size=2).map(
            tuple
        ),
    ),
    parameters=st.lists(
        st.builds(Parameter, name=texts, examples=st.lists(texts, max_size=2).map(tuple)), max_size=2
    ).map(tuple),
    times=st.integers(1, 10**9),
    sessions=st.integers(1, 10**9),
    enhanced_by=texts,
)
stored_suggestions = st.builds(
    StoredSuggestion,
    suggestion_id=st.integers(0, 3).map(lambda number: SuggestionId(f"sug_{number:02}")),
    suggestion=suggestions,
    state=st.sampled_from(SuggestionState),
    state_actor=texts,
    skipped_at=st.none() | moments,
    times_skipped=st.integers(0, 10**9),
    created_at=moments,
    updated_at=moments,
    revision=st.integers(1, 3),
)
positions = st.builds(
    Position,
    offset=st.integers(0, 2**62),
    line=st.integers(0, 2**40),
    fingerprint=texts,
    carried=st.dictionaries(texts, texts | st.integers(-(2**63), 2**63 - 1), max_size=3),
)
