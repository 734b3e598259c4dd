"""Radar: findings from outside, and what became of them."""

from runlore.client.remote.calls import Remote, Sent, path_of
from runlore.client.remote.review import decided
from runlore.daemon import answers
from runlore.domain.record import Record
from runlore.ports import operations as ops


class RemoteRadar(Remote):
    """Taking findings in, adopting them, and undoing that."""

    def radar_add(self, findings: ops.Findings) -> tuple[Record, ...]:
        """Take findings in: the scan's episode, then a candidate each."""
        body: Sent = {
            "findings": [answers.write(finding) for finding in findings.findings],
            "scope": str(findings.scope),
        }
        made = self.act(path_of("memory", "radar"), body, key=findings.idempotency_key)
        return answers.read_list(Record, made)

    def radar_adopt(self, request: ops.AdoptRequest) -> ops.Adoption:
        """Make a procedure of a finding."""
        body: Sent = {
            "summary": request.summary,
            "workflow": request.workflow,
            "reason": request.reason,
            "expected_revision": request.expected_revision,
            "accept_untrusted": request.accept_untrusted,
        }
        path = path_of("memory", "radar", request.finding_id, "adopt")
        return answers.read(ops.Adoption, self.act(path, body, key=request.idempotency_key))

    def radar_undo(self, decision: ops.Decision) -> ops.Adoption:
        """Roll back what a finding became."""
        path = path_of("memory", "radar", decision.record_id, "undo")
        return answers.read(ops.Adoption, self.act(path, decided(decision), key=decision.idempotency_key))

    def radar_log(self) -> ops.RadarLog:
        """The adoption registry and the promotion log."""
        return answers.read(ops.RadarLog, self.read(path_of("memory", "radar", "log")))
