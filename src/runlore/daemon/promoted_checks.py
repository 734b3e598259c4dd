"""Promoted skills looked over: at every start, and when the doctor asks (ROL-9).

The records are the authority. The catalogue is put right by them; what is missing in a record is told, never
guessed, and such a skill is not mounted.
"""

from runlore.daemon.parts import Parts
from runlore.domain.records.audit import DAEMON, Act
from runlore.flow.skills.promoted_use import PromotedFault, findings, mend
from runlore.flow.skills.suggestion_lock import suggestions_turn


def promoted_findings(parts: Parts) -> tuple[PromotedFault, ...]:
    """What is wrong with promoted skills; nothing where there are none, which is told without a look."""
    with parts.store.snapshot() as snapshot:
        return tuple(findings(snapshot, parts.clock.now()))


def mend_promoted(parts: Parts) -> tuple[PromotedFault, ...]:
    found = promoted_findings(parts)
    if any(each.is_mended for each in found):
        with parts.store.transaction() as tx:
            suggestions_turn(tx)
            mend(tx, Act(actor=DAEMON, at=parts.clock.now(), reason="its record says so"))
    return found
