"""Superseding a learning: new content is proposed and published in its place, in one transaction."""

from runlore.domain.errors import Conflict, Refused
from runlore.domain.record import Move, Record, transition
from runlore.domain.records.admission import Edits, successor
from runlore.domain.records.publication import PublishTerms
from runlore.flow.publish.decide import refuse_expired
from runlore.flow.reactions import confirm_learning
from runlore.flow.record.intake import Intake, propose
from runlore.ports.store import Transaction


def supersede(
    tx: Transaction,
    intake: Intake,
    old: Record,
    edits: Edits,
    *,
    terms: PublishTerms,
    accept_untrusted: bool = False,
) -> Record:
    """Replace a live learning by new content of the same scope; it inherits taint, and no verification."""
    refuse_expired(old, intake.act.at)
    transition(old, Move.SUPERSEDE)
    if edits.scope not in (None, old.scope):
        raise Conflict(
            f"record {old.record_id} is in {old.scope}, and is superseded there, not in {edits.scope}",
            code="learning.scope",
            hint="leave the scope out; for another scope create a candidate there",
        )
    draft = successor(old, edits, now=intake.act.at)
    candidate = propose(tx, intake, [draft])[0]
    try:
        published = confirm_learning(
            tx,
            candidate,
            intake.act,
            terms=terms,
            supersedes=old.record_id,
            accept_untrusted=accept_untrusted,
        )
    except (Conflict, Refused) as refused:
        # Nothing is stored of what is refused here: its id would lead nowhere.
        told = refused.sentence.replace(candidate.record_id, "the new text")
        raise type(refused)(told, code=refused.code, hint=refused.hint) from None
    if published.record_id != candidate.record_id:
        raise Conflict(
            f"record {published.record_id} says that already, in {published.scope}",
            code="learning.duplicate",
            hint=f"revoke {old.record_id}: what is to replace it is published",
        )
    return published
