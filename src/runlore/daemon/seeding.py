"""What the settings say of a policy becomes its revision, until somebody changes the policy itself."""

from datetime import datetime

from runlore.domain.policies.policy import PolicyName, PolicyRevision, check_policy
from runlore.domain.record import JsonObject
from runlore.flow.policies import current_policy
from runlore.ports.store import Collections, Store

SEED = "config.toml"


def seed_skills_policy(store: Store, document: JsonObject, now: datetime) -> None:
    """Put the skills policy as the file has it, where nobody else has put one and it says something else."""
    if not document:
        return
    wanted = check_policy(PolicyName.SKILLS, document)
    with store.snapshot() as snapshot:
        if not _is_to_be_put(snapshot, wanted):
            return
    with store.transaction() as tx:
        if _is_to_be_put(tx, wanted):
            revision = current_policy(tx, PolicyName.SKILLS).revision + 1
            tx.policies.put(
                PolicyRevision(
                    name=PolicyName.SKILLS, revision=revision, policy=wanted, updated_at=now, actor=SEED
                )
            )


def _is_to_be_put(collections: Collections, wanted: JsonObject) -> bool:
    current = current_policy(collections, PolicyName.SKILLS)
    return (not current.revision or current.actor == SEED) and current.policy != wanted
