"""What reading transcripts came to, added up and as plain values: nothing of a reader or a store."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property

from runlore.domain.detectors.match import Match
from runlore.domain.detectors.mined import Step
from runlore.domain.policies.policy import RunMemoryPolicy
from runlore.domain.project import project_name
from runlore.domain.record import Record, Source
from runlore.domain.run import RunId, RunStatus
from runlore.domain.runs.transcript import ReadCounts, TranscriptSource
from runlore.domain.session import SessionId
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.suggestion import Suggestion
from runlore.domain.worth.repeats import Repeats, find_repeats


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
        return sum(self.skipped.values())

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
        return sum(agent.files for agent in self.agents)

    @property
    def lines(self) -> int:
        return sum(agent.lines for agent in self.agents)

    @property
    def bytes(self) -> int:
        return sum(agent.bytes for agent in self.agents)

    @property
    def sessions(self) -> int:
        return sum(agent.sessions for agent in self.agents)

    @property
    def runs(self) -> int:
        return sum(agent.runs for agent in self.agents)

    @property
    def lines_skipped(self) -> int:
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
    """What the user of one run said. `number` is that of its input; `persona_id` says who that was, where it
    was somebody else."""

    session_id: SessionId
    run_id: RunId
    agent: str
    number: int
    status: RunStatus
    started_at: datetime | None
    ended_at: datetime | None
    said: tuple[UserMessage, ...]
    persona_id: str = ""

    @property
    def request(self) -> UserMessage | None:
        return next((each for each in self.said if each.event_number == self.number), None)

    @property
    def source(self) -> Source:
        return Source(session_id=self.session_id, run_id=self.run_id, agent=self.agent)


@dataclass(frozen=True, kw_only=True)
class UserWords:
    """What users said in transcripts: the runs in order, the project and the folder of each session, and the
    matches in which somebody asks to keep something."""

    runs: tuple[RunWords, ...] = ()
    projects: Mapping[SessionId, str] = field(default_factory=dict)
    folders: Mapping[SessionId, str] = field(default_factory=dict)
    instructions: tuple[Match, ...] = ()

    def by_persona(self) -> Iterator[tuple[str, "UserWords"]]:
        """What each persona said, by itself: nobody's words count for somebody else's."""
        personas = dict.fromkeys(run.persona_id for run in self.runs)
        if len(personas) <= 1:
            yield next(iter(personas), ""), self
            return
        for persona_id in personas:
            runs = tuple(run for run in self.runs if run.persona_id == persona_id)
            sessions = {run.session_id for run in runs}
            asked = tuple(
                match for match in self.instructions if match.occurrences[-1].session_id in sessions
            )
            yield persona_id, replace(self, runs=runs, instructions=asked)

    @cached_property
    def project_names(self) -> Mapping[str, str]:
        """What people call the projects, as far as a folder tells."""
        named = (
            (project, project_name(project, self.folders.get(session_id, "")))
            for session_id, project in self.projects.items()
        )
        return {project: name for project, name in named if name}


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
    # Repeated work that is no skill, and waits as a procedure to remember.
    procedures: tuple[Suggestion, ...] = ()
    examples: Mapping[str, Example] = field(default_factory=dict)
    heard: UserWords = field(default_factory=UserWords)
    # The candidates that come of what users say, those that are shown first before the others.
    statements: tuple[Record, ...] = ()
    # When the first learning was put to use, where there is a store that knows.
    learning_began_at: datetime | None = None

    @cached_property
    def repeats(self) -> Repeats:
        """What was said in several of these sessions."""
        runs = self.heard.runs
        opened_at = {run.run_id: run.started_at for run in runs if run.started_at is not None}
        return find_repeats((said for run in runs for said in run.said), opened_at)

    def beyond_retention(self, policy: RunMemoryPolicy, now: datetime) -> int:
        """Of how many runs no memory would be kept."""
        return sum(not policy.remembers(at, now) for at in self.ended_at)


@dataclass(kw_only=True)
class _AgentTotals:
    files: set[str] = field(default_factory=set)
    lines: int = 0
    bytes: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    sessions: set[SessionId] = field(default_factory=set)
    runs: set[RunId] = field(default_factory=set)


class Totals:
    """What was read so far. A run that several sources tell is counted once."""

    def __init__(self) -> None:
        self._agents: dict[str, _AgentTotals] = {}
        self._unread: list[Unread] = []

    def add(self, source: TranscriptSource, counts: ReadCounts) -> None:
        totals = self._of(source)
        totals.files.add(source.path)
        totals.lines += counts.lines
        totals.bytes += counts.bytes
        totals.skipped.update(counts.skipped)

    def add_run(self, source: TranscriptSource, session_id: SessionId, run_id: RunId) -> None:
        totals = self._of(source)
        totals.sessions.add(session_id)
        totals.runs.add(run_id)

    def add_unread(self, source: TranscriptSource, problem: str) -> None:
        """Note what could not be read, or not to its end."""
        self._unread.append(
            Unread(path=printable_path(source.path), problem=problem, looks_like=source.looks_like)
        )

    def add_mishap(self, where: str, problem: str) -> None:
        """Note what went wrong where no source is to blame."""
        self._unread.append(Unread(path=where, problem=problem))

    def reading(self) -> ReadingSummary:
        """All of it, agents and files by name."""
        return ReadingSummary(
            agents=tuple(_to_agent_read(agent, self._agents[agent]) for agent in sorted(self._agents)),
            unread=tuple(sorted(self._unread, key=lambda each: each.path)),
        )

    def _of(self, source: TranscriptSource) -> _AgentTotals:
        return self._agents.setdefault(str(source.agent), _AgentTotals())


def printable_path(path: str) -> str:
    """A path as it can be printed and sent: a name need not be text."""
    return os.fsencode(path).decode(errors="backslashreplace")


def readable(sources: Iterable[TranscriptSource], sums: Totals) -> list[TranscriptSource]:
    """The sources that have a reader; the others are noted."""
    known = []
    for source in sources:
        if source.agent is None:
            sums.add_unread(source, source.problem)
        else:
            known.append(source)
    return known


def _to_agent_read(agent: str, totals: _AgentTotals) -> AgentRead:
    return AgentRead(
        agent=agent,
        files=len(totals.files),
        lines=totals.lines,
        bytes=totals.bytes,
        sessions=len(totals.sessions),
        runs=len(totals.runs),
        skipped=dict(sorted(totals.skipped.items())),
    )
