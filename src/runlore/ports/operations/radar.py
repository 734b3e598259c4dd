"""Radar: findings from outside, and what became of them."""

from dataclasses import dataclass
from typing import Protocol

from runlore.domain.radar import Finding
from runlore.domain.record import Record, RecordId
from runlore.domain.scope import WORKSPACE, Scope
from runlore.ports.operations.review import Decision


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Radar findings to take in."""

    findings: tuple[Finding, ...]
    scope: Scope = WORKSPACE
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class AdoptRequest:
    """Make a procedure of a finding."""

    finding_id: RecordId
    summary: str | None = None
    workflow: str | None = None
    reason: str = ""
    expected_revision: int | None = None
    accept_untrusted: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Adoption:
    """A finding, the procedure it became (or was), and the episode that says so."""

    finding: Record
    procedure: Record
    episode: Record


@dataclass(frozen=True, kw_only=True)
class RadarLog:
    """What is adopted now, and everything that was promoted or rolled back, oldest first."""

    adoptions: tuple[Record, ...]
    episodes: tuple[Record, ...]
    waiting: tuple[Record, ...]
    markdown: str


class RadarOperations(Protocol):
    """Taking findings in, adopting them, and undoing that."""

    def radar_add(self, findings: Findings) -> tuple[Record, ...]:
        """Take findings in: the scan's episode, then a candidate each."""
        ...

    def radar_adopt(self, request: AdoptRequest) -> Adoption:
        """Make a procedure of a finding."""
        ...

    def radar_undo(self, decision: Decision) -> Adoption:
        """Roll back what a finding became."""
        ...

    def radar_log(self) -> RadarLog:
        """The adoption registry and the promotion log."""
        ...
