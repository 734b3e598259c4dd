"""What was read, added up by agent."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from runlore.daemon.mining.findings import AgentRead, ReadingSummary, Unread
from runlore.domain.run import RunId
from runlore.domain.runs.transcript import ReadCounts, TranscriptSource
from runlore.domain.session import SessionId


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
        """Count what was read of a source."""
        told = self._of(source)
        told.files.add(source.path)
        told.lines += counts.lines
        told.bytes += counts.bytes
        told.skipped.update(counts.skipped)

    def add_run(self, source: TranscriptSource, session_id: SessionId, run_id: RunId) -> None:
        """Count a run."""
        told = self._of(source)
        told.sessions.add(session_id)
        told.runs.add(run_id)

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


def _to_agent_read(agent: str, told: _AgentTotals) -> AgentRead:
    return AgentRead(
        agent=agent,
        files=len(told.files),
        lines=told.lines,
        bytes=told.bytes,
        sessions=len(told.sessions),
        runs=len(told.runs),
        skipped=dict(sorted(told.skipped.items())),
    )
