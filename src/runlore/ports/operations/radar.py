"""Radar: findings from outside, and what became of them."""

from collections.abc import Mapping
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.json_form import About
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue, Record, RecordId
from runlore.domain.records.radar import Finding, finding_from_plain
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.serialization.codec import serialize
from runlore.ports.operations.declaration import (
    AGENTS,
    OPERATORS,
    OVERSEERS,
    Created,
    Operation,
    RequestForm,
    Route,
    Values,
)
from runlore.ports.operations.field_types import Accepted, Reason, Revision
from runlore.ports.operations.review import Decision


def _several_findings(plain: JsonValue) -> JsonValue:
    """One finding alone, or a list of them, as the findings that are taken in."""
    if isinstance(plain, Mapping):
        return plain if "findings" in plain else {"findings": [plain]}
    return {"findings": plain} if isinstance(plain, list) else plain


def _checked_findings(values: Values) -> Values:
    """The findings under their contract."""
    found = enumerate(values["findings"], start=1)
    return {
        **values,
        "findings": tuple(finding_from_plain(serialize(each), name=f"finding {n}") for n, each in found),
    }


# What else a payload holds is not kept.
RequestForm(open=True)(Finding)


@RequestForm(before=_several_findings, after=_checked_findings)
@dataclass(frozen=True, kw_only=True)
class Findings:
    """Radar findings to take in."""

    findings: Annotated[tuple[Finding, ...], About(least=1, most=limits.RADAR_FINDINGS_MAX)]
    scope: Scope = WORKSPACE
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class AdoptRequest:
    """Make a procedure of a finding."""

    finding_id: RecordId
    summary: Annotated[str | None, About("The procedure; the finding's own text if left out.")] = None
    workflow: Annotated[str | None, About("The workflow; named after the repository if left out.")] = None
    reason: Reason = ""
    expected_revision: Revision = None
    accept_untrusted: Accepted = False
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

    @Operation("POST /v1/memory/radar", AGENTS, created=Created.ALWAYS)
    def radar_add(self, findings: Findings) -> tuple[Record, ...]:
        """Take findings in: the scan's episode, then a candidate each."""

    @Operation(
        Route("POST /v1/memory/radar/{record_id}/adopt", fields={"record_id": "finding_id"}), OPERATORS
    )
    def radar_adopt(self, request: AdoptRequest) -> Adoption:
        """Make a procedure of a finding."""

    @Operation(
        "POST /v1/memory/radar/{record_id}/undo", OPERATORS, only=frozenset({"reason", "expected_revision"})
    )
    def radar_undo(self, decision: Decision) -> Adoption:
        """Roll back what a finding became."""

    @Operation("GET /v1/memory/radar/log", OVERSEERS)
    def radar_log(self) -> RadarLog:
        """The adoption registry and the promotion log."""
