"""What `status` shows beside the records: sessions, memories, skills, jobs, policies, sizes, models."""

from datetime import datetime
from typing import TypeAlias

import orjson

from runlore.daemon.calls.access import may_use
from runlore.daemon.parts import Parts
from runlore.daemon.skills.library import SkillLibrary
from runlore.domain import limits
from runlore.domain.access import Caller
from runlore.domain.agent.approval import Approval, ApprovalState
from runlore.domain.policies.policy import PolicyName, policy_to_plain
from runlore.domain.record import JsonValue
from runlore.domain.run import RunStatus
from runlore.domain.runs.job import JobKind, JobState
from runlore.domain.suggestion import SuggestionState
from runlore.domain.timestamps import format_time
from runlore.flow.model_budget import budget_day, usage_on
from runlore.flow.policies import current_learning, current_policy, current_retention, current_run_memory
from runlore.flow.review.inbox import count_waiting, waiting_for_review
from runlore.ports.model import ModelPurpose, Models
from runlore.ports.store import Collections

Plain: TypeAlias = dict[str, JsonValue]

MAINTENANCE_NOTE = "run_memory.maintenance"
REPEATS_NOTE = "repeats.rates"
RUN_MEMORY_COUNTERS = (
    "stored_total",
    "injected_total",
    "skipped_unreadable_total",
    "pruned_ttl_total",
    "pruned_overflow_total",
    "pruned_orphan_total",
    "redacted_fields_total",
    "prompt_limit_omitted_total",
)


def overview(collections: Collections, *, models: Models, library: SkillLibrary, now: datetime) -> Plain:
    counters = collections.counters.values()
    return {
        "sessions": _sessions(collections),
        "run_memory": _run_memory(collections, counters),
        "session_memory": {
            "metrics": {
                "prompt_limit_omitted_total": counters.get("session_memory.prompt_limit_omitted_total", 0)
            }
        },
        "suggestions": _suggestions(collections),
        "skills": library.describe(collections),
        "jobs": _jobs(collections),
        "policies": {name.value: _policy(collections, name) for name in PolicyName},
        "capture": _capture(collections),
        "retention": _retention(collections),
        "models": _models(collections, models, now),
        "repeats": _repeats(collections),
    }


def waiting_approvals(parts: Parts, snapshot: Collections, caller: Caller | None = None) -> list[Approval]:
    """What runs ask, those included that are not stored; what a caller may decide, or all of it."""
    states = frozenset({ApprovalState.WAITING})
    asked = (
        *snapshot.approvals.page(limit=limits.LIST_LIMIT_MAX, states=states),
        *(each for each in parts.agent.waiting.all() if each.state in states),
    )
    sessions = {each.session_id: snapshot.sessions.find(each.session_id) for each in asked}
    usable = {
        name
        for name, session in sessions.items()
        if session is not None and (caller is None or may_use(caller, session))
    }
    return [each for each in asked if each.session_id in usable]


def waiting(parts: Parts, snapshot: Collections) -> int:
    """How many wait for a person: as many as the inbox lists."""
    now = parts.clock.now()
    return count_waiting(snapshot, waiting_for_review(now), now) + len(waiting_approvals(parts, snapshot))


def _sessions(collections: Collections) -> Plain:
    runs = collections.runs.count()
    return {
        "count": collections.sessions.count(),
        "runs": {status.value: runs.get(status, 0) for status in RunStatus},
    }


def _run_memory(collections: Collections, counters: dict[str, int]) -> Plain:
    indexed = collections.pointers.count()
    note = collections.counters.note(MAINTENANCE_NOTE)
    return {
        "policy": policy_to_plain(current_run_memory(collections)),
        "indexed_session_count": indexed.sessions,
        "indexed_record_count": indexed.runs,
        "indexed_scope_count": indexed.scopes,
        "capture_pending": indexed.pending,
        "maintenance": None if note is None else orjson.loads(note),
        "metrics": {name: counters.get(f"run_memory.{name}", 0) for name in RUN_MEMORY_COUNTERS},
    }


def _suggestions(collections: Collections) -> Plain:
    counted = collections.suggestions.count()
    return {state.value: counted.get(state, 0) for state in SuggestionState}


def _jobs(collections: Collections) -> Plain:
    counted = collections.jobs.count()
    return {
        kind.value: {state.value: counted.get((kind, state), 0) for state in JobState} for kind in JobKind
    }


def _policy(collections: Collections, name: PolicyName) -> Plain:
    current = current_policy(collections, name)
    changed = None if current.updated_at is None else format_time(current.updated_at)
    return {"revision": current.revision, "updated_at": changed, "actor": current.actor}


def _capture(collections: Collections) -> Plain:
    switch = collections.counters.switch("capture.paused")
    return {"paused": switch is not None and switch.on}


def _retention(collections: Collections) -> Plain:
    return {
        "policy": policy_to_plain(current_retention(collections)),
        "journal_bytes": collections.journal.bytes(),
        "artifact_bytes": collections.runs.artifact_bytes(),
    }


def _repeats(collections: Collections) -> JsonValue:
    """How many requests said something again, as the daily look has counted them."""
    noted = collections.counters.note(REPEATS_NOTE)
    return {"rates": [], "change": None} if noted is None else orjson.loads(noted)


def _models(collections: Collections, models: Models, now: datetime) -> Plain:
    """The models there are, and what each purpose has asked of them today (UTC), beside its budget."""
    budget, day = current_learning(collections).model_budget, budget_day(now)
    uses = {purpose: usage_on(collections, purpose, day) for purpose in ModelPurpose}
    return {
        **models.describe(),
        "day": day,
        "budget": {"calls_per_day": budget.calls_per_day, "tokens_per_day": budget.tokens_per_day},
        "today": {
            purpose.value: {
                "calls": use.calls,
                "failures": use.failures,
                "input_tokens": use.input_tokens,
                "output_tokens": use.output_tokens,
                "cost_micro_usd": use.cost_micro_usd,
            }
            for purpose, use in uses.items()
        },
    }
