"""What is kept of a run for the detectors: its shell calls, what the user said, what it read from outside.

It is small, holds no secret, and has one plain form, so that runs of long ago can be compared with today's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from operator import attrgetter

from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId
from runlore.domain.session import SessionId

LEFT_OUT = "a run that was left out"
"""What a run has read of which nothing may be known."""


# This is asked for far more often than anything else.
_IS_LOOKING = attrgetter("is_looking")


class Outcome(StrEnum):
    """What became of a shell call. A refusal by the user or by the harness says nothing about the command."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class CommandKind(StrEnum):
    """What a command is for. Looking, editing and plumbing neither count nor break a row; `command_kinds.py`
    says which is which."""

    WORK = "work"
    FILES = "files"
    MOVING = "moving"
    LOOKING = "looking"
    EDITING = "editing"
    PLUMBING = "plumbing"


@dataclass(frozen=True, kw_only=True, slots=True)
class StepCommand:
    """One simple command of a shell call: as it was written, its normal form, and what it is about.

    `values` are the words of it that its normal form leaves out, in order: what may become parameters.
    `is_looking` says that it does not count in its call; so does a `cd` in front of another command.
    """

    text: str
    form: str
    topic: str
    verb: str = ""
    values: tuple[str, ...] = ()
    is_looking: bool = False
    kind: CommandKind = CommandKind.WORK


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One shell call: `number` is the event of the call in its session, `text` the command line, redacted.

    `commands` are its simple commands in order, without those inside other programs' texts. `error` is the
    line of the output that tells best why it failed, `more` has others that say so. `call` is the id of the
    call where no other call of any session can have it. `tool` names a call of another tool, which has no
    commands: its `text` says what it was given, and of an edit that may put a failure right what it changed.
    `is_approved` says that a shell call asked to be run outside of the agent's sandbox.
    """

    run_id: RunId
    number: int
    result_number: int = 0
    at: datetime
    text: str
    outcome: Outcome
    exit_code: int | None = None
    error: str = ""
    commands: tuple[StepCommand, ...] = ()
    call: str = ""
    tool: str = ""
    is_approved: bool = False
    more: str = ""

    @property
    def is_looking(self) -> bool:
        """Whether it only looks around: it neither counts nor breaks a row."""
        return all(map(_IS_LOOKING, self.commands))

    @property
    def has_worked(self) -> bool:
        """Whether it did something of its own, and succeeded."""
        return self.outcome is Outcome.SUCCEEDED and not self.is_looking

    @property
    def form(self) -> str:
        """The normal forms of what it does, looking around left out."""
        return " && ".join(command.form for command in self.commands if not command.is_looking)


@dataclass(frozen=True, kw_only=True, slots=True)
class UserRequest:
    """What the user said: the input of a run, redacted; `own` is the part that is surely the user's own."""

    run_id: RunId
    number: int
    at: datetime
    text: str
    own: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OutsideRead:
    """Something read from outside, and the event that brought it."""

    number: int
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MinedRun:
    """One run as the detectors see it. `left_out` counts shell calls beyond what is kept of one run;
    `project_name` is what people call its project."""

    session_id: SessionId
    run_id: RunId
    agent: str
    project: str
    at: datetime
    request: UserRequest | None
    steps: tuple[Step, ...]
    outside: tuple[OutsideRead, ...] = ()
    left_out: int = 0
    project_name: str = ""

    @property
    def first_number(self) -> int:
        """The first event of the session that anything of the run was taken from."""
        asked = () if self.request is None else (self.request.number,)
        steps = (step.number for step in self.steps)
        return min((*asked, *steps, *(read.number for read in self.outside)), default=0)


def first_reads(reads: Iterable[OutsideRead]) -> tuple[OutsideRead, ...]:
    """Each source where it came first, in that order, and no more of them than are told of one conversation.
    What follows the first of them is tainted whether it is named or not."""
    first: dict[str, int] = {}
    for read in reads:
        first[read.source] = min(read.number, first.get(read.source, read.number))
    ordered = sorted((number, source) for source, number in first.items())
    return tuple(
        OutsideRead(number=number, source=source) for number, source in ordered[: limits.TAINT_SOURCES_MAX]
    )


def with_earlier(runs: Sequence[MinedRun], earlier: Sequence[OutsideRead]) -> tuple[MinedRun, ...]:
    """The runs of a session, the first of them with what was read in those before it, which the detectors do
    not look at: too many, or left out. A later run has it before its eyes all the same."""
    if not runs or not earlier:
        return tuple(runs)
    return (replace(runs[0], outside=(*earlier, *runs[0].outside)), *runs[1:])
