"""What reading transcripts came to, as plain values: nothing of a reader or of a store is in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from runlore.domain.detectors.match import Match
from runlore.domain.detectors.mined import Step
from runlore.domain.policies.policy import RunMemoryPolicy
from runlore.domain.record import Record, Source
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.suggestion import Suggestion


@dataclass(frozen=True, kw_only=True)
class AgentRead:
    """What was read of one agent. `skipped` counts the lines that were not understood, by reason."""

    agent: str
    files: int = 0
    lines: int = 0
    bytes: int = 0
    sessions: int = 0
    runs: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def lines_skipped(self) -> int:
        """How many lines were not understood."""
        return sum(self.skipped.values())

    @property
    def understood(self) -> float:
        """The share of its lines that were understood; nothing read is nothing missed."""
        return 1 - self.lines_skipped / self.lines if self.lines else 1.0

    @property
    def understood_text(self) -> str:
        """The share in percent, rounded down: one line that was not understood is never 100."""
        missed = -(-10_000 * self.lines_skipped // self.lines) if self.lines else 0
        return f"{(10_000 - missed) / 100:.2f} %"


@dataclass(frozen=True, kw_only=True)
class Unread:
    """Something that was found and not read, and why; `looks_like` names the agent it may be of."""

    path: str
    problem: str
    looks_like: str = ""


@dataclass(frozen=True, kw_only=True)
class ReadingSummary:
    """What was looked at, and what was read of it."""

    agents: tuple[AgentRead, ...] = ()
    unread: tuple[Unread, ...] = ()

    @property
    def files(self) -> int:
        """How many files were read."""
        return sum(agent.files for agent in self.agents)

    @property
    def lines(self) -> int:
        """How many lines were read."""
        return sum(agent.lines for agent in self.agents)

    @property
    def bytes(self) -> int:
        """How many bytes were read."""
        return sum(agent.bytes for agent in self.agents)

    @property
    def sessions(self) -> int:
        """Of how many sessions anything was read."""
        return sum(agent.sessions for agent in self.agents)

    @property
    def runs(self) -> int:
        """How many runs were read."""
        return sum(agent.runs for agent in self.agents)

    @property
    def lines_skipped(self) -> int:
        """How many lines were not understood."""
        return sum(agent.lines_skipped for agent in self.agents)


@dataclass(frozen=True, kw_only=True)
class Day:
    """What agents did on one day: commands that do something, those that failed, those done before."""

    day: date
    commands: int
    failures: int
    repeats: int
    by_agent: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Example:
    """One time that a pattern was seen, as its transcript tells it, redacted."""

    agent: str
    session_id: SessionId
    run_id: RunId
    project: str
    at: datetime
    request: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class RunWords:
    """What the user of one run said. `number` is that of its input."""

    session_id: SessionId
    run_id: RunId
    agent: str
    number: int
    status: RunStatus
    started_at: datetime | None
    ended_at: datetime | None
    said: tuple[UserMessage, ...]

    @property
    def request(self) -> UserMessage | None:
        """What it was asked, where that is the user's."""
        return next((each for each in self.said if each.event_number == self.number), None)

    @property
    def source(self) -> Source:
        """Where what is said comes from."""
        return Source(session_id=self.session_id, run_id=self.run_id, agent=self.agent)


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What users said in transcripts: the runs in order, the project of each session, and the matches in
    which somebody asks to keep something."""

    runs: tuple[RunWords, ...] = ()
    projects: Mapping[SessionId, str] = field(default_factory=dict)
    instructions: tuple[Match, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LearnFindings:
    """What a look over transcripts found. `examples` are by the pattern of their suggestion; `left` counts
    the runs that were left alone, by reason; those that may still be written are whole at `settles_at`; the
    others ended at `ended_at`, as far as that is told."""

    reading: ReadingSummary
    left: Mapping[str, int] = field(default_factory=dict)
    settles_at: datetime | None = None
    ended_at: tuple[datetime, ...] = ()
    days: tuple[Day, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    examples: Mapping[str, Example] = field(default_factory=dict)
    heard: Heard = field(default_factory=Heard)
    # The candidates that come of what users say, those that are shown first before the others.
    statements: tuple[Record, ...] = ()

    def beyond_retention(self, policy: RunMemoryPolicy, now: datetime) -> int:
        """Of how many runs no memory would be kept."""
        return sum(not policy.remembers(at, now) for at in self.ended_at)
