"""Worth: whether what prompts are given makes a difference."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.json_form import About
from runlore.domain.lazy import dataclass
from runlore.domain.record import RecordId
from runlore.domain.run import RunId
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.worth.effect import Worth
from runlore.domain.worth.outcome import SaidOutcome
from runlore.domain.worth.repeat_rates import RateChange, RepeatRate
from runlore.ports.operations.declaration import AGENTS, OVERSEERS, Operation
from runlore.ports.operations.field_types import SearchLimit


@dataclass(frozen=True, kw_only=True)
class ValueRequest:
    """What is given to prompts, what harms and what helps first."""

    limit: SearchLimit = limits.SEARCH_LIMIT_DEFAULT


@dataclass(frozen=True, kw_only=True)
class ValueItem:
    """The worth of a learning or a skill; `record_id` is the id of either, `skill` the name of a skill. The
    difference is in points of a run's outcome, from 0 to 100; it lies between `low` and `high`, however often
    one looks. Runs that are not settled yet, or that one opened before them holds up, are in `given` and
    `held_back` alone."""

    record_id: str
    title: str
    skill: str | None = None
    given: int
    held_back: int
    used: int
    settled: int
    difference: int
    low: int
    high: int
    word: Worth


@dataclass(frozen=True, kw_only=True)
class ValueAnswer:
    """The worth of what is given to prompts, and from how many runs of a hundred each is held back."""

    items: tuple[ValueItem, ...]
    truncated: bool
    holdback_percent: int


@dataclass(frozen=True, kw_only=True)
class OutcomeRequest:
    """How a run went, in the words of who knows."""

    run_id: RunId
    outcome: Annotated[SaidOutcome, About("How it went: good or bad.")]
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class OutcomeAnswer:
    """What was said of a run."""

    run_id: RunId
    outcome: SaidOutcome


@dataclass(frozen=True, kw_only=True)
class RepeatsRequest:
    """What a person said more than once; without a persona, what was said in sessions that have none."""

    persona_id: Annotated[PersonaId | None, About("Whose sessions; those without a persona if left out.")] = (
        None
    )
    limit: SearchLimit = limits.SEARCH_LIMIT_DEFAULT


class Holding(StrEnum):
    """Whether Runlore holds what a person says again."""

    IN_USE = "in use"
    WAITING = "waiting"
    NOT_KEPT = "not kept"


@dataclass(frozen=True, kw_only=True)
class RepeatItem:
    """One thing that was said in several sessions, and the record that holds it, if there is one."""

    text: str
    sessions: int
    session_ids: tuple[SessionId, ...]
    first_at: datetime
    last_at: datetime
    kept: Holding
    record_id: RecordId | None = None


@dataclass(frozen=True, kw_only=True)
class RepeatsAnswer:
    """What was said again, most often first; and how many requests said again what an earlier session had
    been told: by month, and before and after learning began."""

    items: tuple[RepeatItem, ...]
    truncated: bool
    rates: tuple[RepeatRate, ...]
    change: RateChange | None = None


class WorthOperations(Protocol):
    """What given memory is worth."""

    @Operation("GET /v1/repeats", OVERSEERS)
    def repeats(self, request: RepeatsRequest) -> RepeatsAnswer:
        """What a person told their agents more than once, found without a model."""

    @Operation("GET /v1/value", OVERSEERS)
    def value(self, request: ValueRequest) -> ValueAnswer:
        """What each learning and each skill is worth: the difference between runs with it and runs from which
        it was held back."""

    @Operation("POST /v1/runs/{run_id}/outcome", AGENTS, area="runs")
    def say_outcome(self, request: OutcomeRequest) -> OutcomeAnswer:
        """Say how a run went. It counts instead of all that Runlore reads off the run, if it is said within a
        day."""
