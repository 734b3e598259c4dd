"""The policies in force, read from the store; the defaults where nobody has put one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runlore.domain.lazy import LazyModule
from runlore.domain.policies.policy import (
    PolicyName,
    PolicyRevision,
    RetentionPolicy,
    RunMemoryPolicy,
    check_policy,
    retention_policy,
    run_memory_policy,
)

if TYPE_CHECKING:
    from datetime import datetime

    from runlore.domain.policies import learning_policy, policy_fields, skills_policy
    from runlore.domain.policies.learning_policy import CapturePolicy, LearningPolicy, ProjectionPolicy
    from runlore.ports.store import Collections
else:
    learning_policy = LazyModule("runlore.domain.policies.learning_policy")
    policy_fields = LazyModule("runlore.domain.policies.policy_fields")
    skills_policy = LazyModule("runlore.domain.policies.skills_policy")


def current_policy(collections: Collections, name: PolicyName) -> PolicyRevision:
    """The latest revision; revision 0 are the defaults."""
    stored = collections.policies.current(name)
    if stored is not None:
        return stored
    return PolicyRevision(
        name=name, revision=0, policy=check_policy(name, {}), updated_at=None, actor="default"
    )


def learning_in_force(collections: Collections) -> tuple[LearningPolicy, int]:
    stored = collections.policies.current(PolicyName.LEARNING)
    return (
        (learning_policy.LearningPolicy(), 0)
        if stored is None
        else (policy_fields.learning_policy(stored.policy), stored.revision)
    )


def current_learning(collections: Collections) -> LearningPolicy:
    return learning_in_force(collections)[0]


def current_capture(collections: Collections) -> CapturePolicy:
    """What becomes a candidate by itself, without reading all the rules for it."""
    stored = collections.policies.current(PolicyName.LEARNING)
    return learning_policy.CapturePolicy() if stored is None else policy_fields.capture_policy(stored.policy)


def current_projection(collections: Collections) -> ProjectionPolicy:
    """What an input is given of learnings, without reading all the rules for it."""
    stored = collections.policies.current(PolicyName.LEARNING)
    return (
        learning_policy.ProjectionPolicy()
        if stored is None
        else policy_fields.projection_policy(stored.policy)
    )


def learning_then(collections: Collections, moment: datetime) -> LearningPolicy:
    for revision in collections.policies.history(PolicyName.LEARNING):
        if revision.updated_at is not None and revision.updated_at <= moment:
            return policy_fields.learning_policy(revision.policy)
    return learning_policy.LearningPolicy()


def current_run_memory(collections: Collections) -> RunMemoryPolicy:
    stored = collections.policies.current(PolicyName.RUN_MEMORY)
    return RunMemoryPolicy() if stored is None else run_memory_policy(stored.policy)


def run_memory_then(collections: Collections, moment: datetime) -> RunMemoryPolicy:
    for revision in collections.policies.history(PolicyName.RUN_MEMORY):
        if revision.updated_at is not None and revision.updated_at <= moment:
            return run_memory_policy(revision.policy)
    return RunMemoryPolicy()


def current_retention(collections: Collections) -> RetentionPolicy:
    return retention_policy(current_policy(collections, PolicyName.RETENTION).policy)


def current_skills(collections: Collections) -> skills_policy.SkillsPolicy:
    stored = collections.policies.current(PolicyName.SKILLS)
    return skills_policy.SkillsPolicy() if stored is None else skills_policy.skills_policy(stored.policy)
