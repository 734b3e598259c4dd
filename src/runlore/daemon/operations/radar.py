"""Radar: findings, adopting them, and undoing that."""

from collections.abc import Sequence

from runlore.daemon.calls.access import require_writable
from runlore.daemon.calls.idempotency import Call
from runlore.daemon.calls.lookups import radar_records
from runlore.daemon.operations.bound import Bound, operation, reasoned_call
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.record import Kind, Record, State
from runlore.domain.records.audit import Act
from runlore.domain.records.radar import radar_markdown
from runlore.flow.pipeline.radar import adopt, take_findings, undo_adoption
from runlore.ports import operations as ops
from runlore.ports.store import RecordFilter, Transaction

_LOGGED = (
    (frozenset({Kind.PROCEDURE}), State.ACTIVE),
    (frozenset({Kind.PROMOTION, Kind.ROLLBACK}), State.ACTIVE),
    (frozenset({Kind.FACT}), State.CONSTRAINED),
)


class RadarActs(Bound):
    """Findings from outside, and what became of them."""

    @operation
    def radar_add(self, findings: ops.Findings) -> tuple[Record, ...]:
        if not 1 <= len(findings.findings) <= limits.RADAR_FINDINGS_MAX:
            raise Invalid(
                f"{len(findings.findings)} findings are outside 1 to {limits.RADAR_FINDINGS_MAX}",
                code="radar.findings",
                hint="give at least one, and split larger scans",
            )
        outside = self.caller.role is not ops.Role.OPERATOR

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            require_writable(tx, self.caller, findings.scope)
            return take_findings(
                tx, self.intake(act), findings.findings, scope=findings.scope, outside=outside
            )

        return self.write(Call(operation="radar_add", request=findings, key=findings.idempotency_key), body)

    @operation
    def radar_adopt(self, request: ops.AdoptRequest) -> ops.Adoption:
        finding = ops.Decision(record_id=request.finding_id, expected_revision=request.expected_revision)

        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            done = adopt(
                tx,
                self.intake(act),
                self.target(tx, finding),
                summary=request.summary,
                workflow=request.workflow,
                accept_untrusted=request.accept_untrusted,
            )
            return [done.finding, done.procedure, done.episode]

        records = self.write(reasoned_call("radar_adopt", request), body)
        return ops.Adoption(finding=records[0], procedure=records[1], episode=records[2])

    @operation
    def radar_undo(self, decision: ops.Decision) -> ops.Adoption:
        def body(tx: Transaction, act: Act) -> Sequence[Record]:
            done = undo_adoption(tx, self.intake(act), self.target(tx, decision))
            return [done.finding, done.procedure, done.episode]

        records = self.write(reasoned_call("radar_undo", decision), body)
        self.follow_skills()
        return ops.Adoption(finding=records[0], procedure=records[1], episode=records[2])

    @operation
    def radar_log(self) -> ops.RadarLog:
        now, scopes = self.parts.clock.now(), self.caller.scopes
        with self.parts.store.snapshot() as snapshot:
            adoptions, episodes, waiting = (
                radar_records(
                    snapshot.records,
                    RecordFilter(kinds=kinds, states=frozenset({state}), scopes=scopes, now=now),
                )
                for kinds, state in _LOGGED
            )
        return ops.RadarLog(
            adoptions=adoptions,
            episodes=episodes,
            waiting=waiting,
            markdown=radar_markdown(adoptions, episodes),
        )
