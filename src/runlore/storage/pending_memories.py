"""Whether a memory that was made a while ago is still the one that is owed."""

from runlore.domain.policies.policy import PolicyName
from runlore.domain.run import MemoryState, RunId
from runlore.ports.run_memories import Owed
from runlore.ports.service_store import Jobs, Policies
from runlore.ports.store import Collections


def is_unchanged(policies: Policies, jobs: Jobs, owed: Owed) -> bool:
    current = policies.current(PolicyName.RUN_MEMORY)
    revision = 0 if current is None else current.revision
    return revision == owed.policy_revision and (owed.job is None or jobs.is_held(owed.job))


def is_stored(collections: Collections, run_id: RunId) -> bool:
    """Whether the memory of a run counts as kept: one that was pruned or forgotten meanwhile does not."""
    run = collections.runs.find(run_id)
    return run is not None and run.memory is MemoryState.STORED


def may_be_kept(collections: Collections, run_id: RunId, owed: Owed | None) -> bool:
    """Whether a run waits for this memory. One that is not known yet waits only for what a restore brings."""
    run = collections.runs.find(run_id)
    if owed is None:
        return run is None or run.memory is MemoryState.PENDING
    if run is None or run.memory is not MemoryState.PENDING:
        return False
    return is_unchanged(collections.policies, collections.jobs, owed)
