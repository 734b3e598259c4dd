"""Policies: what an operator has decided for everybody, as versioned documents with defaults.

A policy is put whole: what a document leaves out takes its default, what it does not know is refused with the
field named, and nothing of a refused one takes effect.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import JsonObject, JsonValue

if TYPE_CHECKING:
    from runlore.domain.policies import learning_policy, policy_fields, policy_shapes, skills_policy
else:
    learning_policy = LazyModule("runlore.domain.policies.learning_policy")
    policy_fields = LazyModule("runlore.domain.policies.policy_fields")
    policy_shapes = LazyModule("runlore.domain.policies.policy_shapes")
    skills_policy = LazyModule("runlore.domain.policies.skills_policy")


class PolicyName(StrEnum):
    """The policies that there are."""

    LEARNING = "learning"
    RUN_MEMORY = "run-memory"
    RETENTION = "retention"
    SKILLS = "skills"


class SearchVisibility(StrEnum):
    """Whose recovered runs a session's search finds."""

    LEARNING_SCOPES = "learning_scopes"
    SESSION_ONLY = "session_only"


@dataclass(frozen=True, kw_only=True)
class RunMemoryPolicy:
    """What is remembered of runs, for how long, and how much of it reaches a prompt."""

    enabled: bool = True
    retention_days: int = 30
    max_tracked_per_session: int = 32
    max_prompt_entries: int = 3
    budget_tokens: int = 1200
    redact_pii: bool = True
    search_visibility: SearchVisibility = SearchVisibility.LEARNING_SCOPES
    external_run_idle_hours: int = 24

    def oldest_kept(self, now: datetime) -> datetime:
        """The earliest moment whose memories are kept, whether or not they are in use now."""
        return now - timedelta(days=self.retention_days)

    def remembers(self, at: datetime, now: datetime) -> bool:
        """Whether a run that ended then is remembered now. Exactly so many days are kept."""
        return self.enabled and at >= self.oldest_kept(now)


@dataclass(frozen=True, kw_only=True)
class RetentionPolicy:
    """How long and how much is kept; 0 is without limit. What is pruned of a journal leaves its numbers."""

    journal_days: int = 0
    journal_mb_max: int = 0
    artifact_days: int = 180
    artifact_mb_max: int = 2_000
    exports_kept: int = 20
    log_mb_max: int = 20
    logs_kept: int = 5
    answer_days: int = 30
    backup_hours: int = 0
    backups_kept: int = 7


@JsonForm(document="Policy", omit_default=("remarks",))
@dataclass(frozen=True, kw_only=True)
class PolicyRevision:
    """One version of a policy. Revision 0 is the defaults that nobody has changed yet.

    `remarks` is what whoever reads or puts it might not have meant; it is told, not stored.
    """

    name: PolicyName
    policy: JsonObject
    revision: int
    updated_at: datetime | None
    actor: str
    remarks: tuple[str, ...] = ()


SWITCHED_OFF = (
    "from now on nothing is remembered of runs, and nothing remembered is given; what is stored stays until"
    " its retention ends, or until somebody has the run memories deleted"
)
_GONE = "are deleted for good, at the latest within the hour"
# What a lower limit deletes.
_DELETING: Mapping[str, str] = {
    "retention_days": f"memories of runs that are older {_GONE}",
    "max_tracked_per_session": "older memories of a session are no longer used, and each new one deletes one",
    "journal_days": f"words of journals that are older {_GONE}",
    "journal_mb_max": f"the oldest words of journals beyond it {_GONE}",
    "artifact_days": f"artifacts that are older {_GONE}",
    "artifact_mb_max": f"the oldest artifacts beyond it {_GONE}",
    "exports_kept": f"the oldest exports beyond it {_GONE}",
    "logs_kept": f"the oldest logs beyond it {_GONE}",
    "answer_days": f"kept answers that are older {_GONE}",
}
PolicyT = TypeVar("PolicyT", RunMemoryPolicy, RetentionPolicy)

RANGES: Mapping[str, tuple[int, int]] = {
    "retention_days": (1, 3_650),
    "max_tracked_per_session": (1, 1_000),
    "max_prompt_entries": (0, 100),
    "budget_tokens": (0, 100_000),
    "external_run_idle_hours": (1, 8_760),
    "journal_days": (0, 36_500),
    "journal_mb_max": (0, 10_000_000),
    "artifact_days": (0, 36_500),
    "artifact_mb_max": (0, 10_000_000),
    "exports_kept": (0, 100_000),
    "log_mb_max": (1, 10_000),
    "logs_kept": (1, 100),
    "answer_days": (1, 3_650),
    "backup_hours": (0, 8_760),
    "backups_kept": (1, 10_000),
}


def run_memory_policy(document: JsonObject) -> RunMemoryPolicy:
    policy = _read(RunMemoryPolicy, document)
    if policy.max_prompt_entries > policy.max_tracked_per_session:
        raise policy_shapes.bad_field(
            "max_prompt_entries",
            f"is {policy.max_prompt_entries}, more than max_tracked_per_session"
            f" ({policy.max_tracked_per_session})",
        )
    return policy


def retention_policy(document: JsonObject) -> RetentionPolicy:
    return _read(RetentionPolicy, document)


def check_policy(name: PolicyName, document: JsonObject) -> JsonObject:
    """The whole document of a policy: what was given, completed by the defaults."""
    if name is PolicyName.LEARNING:
        policy = policy_fields.learning_policy(document)
        # The defaults are ours, and hold nothing that anybody has written.
        return policy_to_plain(policy_fields.without_secrets(policy) if document else policy)
    if name is PolicyName.RUN_MEMORY:
        return policy_to_plain(run_memory_policy(document))
    if name is PolicyName.SKILLS:
        return policy_to_plain(skills_policy.skills_policy(document))
    return policy_to_plain(retention_policy(document))


def with_remarks(revision: PolicyRevision, *, before: JsonObject = MappingProxyType({})) -> PolicyRevision:
    """A revision with what whoever put it might not have meant, though it is accepted: of a policy that was
    put behind another also what that deletes."""
    return replace(revision, remarks=tuple(_remarks(revision, before)))


def _remarks(revision: PolicyRevision, before: JsonObject) -> Iterator[str]:
    if revision.name is PolicyName.RUN_MEMORY and revision.policy.get("enabled") is False:
        yield SWITCHED_OFF
    if revision.name is PolicyName.LEARNING:
        names = policy_fields.unknown_quarantine(policy_fields.learning_policy(revision.policy))
        yield from (f"{name!r} is quarantined, and no rule has that name" for name in names)
    for name, goes in _DELETING.items():
        old, new = before.get(name), revision.policy.get(name)
        # In the retention policy 0 is without limit.
        if isinstance(old, int) and isinstance(new, int) and (new or inf) < (old or inf):
            yield f"{name} is {new} now, no longer {old or 'without limit'}: {goes}"


def policy_to_plain(
    policy: "learning_policy.LearningPolicy | RunMemoryPolicy | RetentionPolicy | skills_policy.SkillsPolicy",
) -> dict[str, JsonValue]:
    if isinstance(policy, learning_policy.LearningPolicy):
        return policy_fields.learning_policy_to_plain(policy)
    if isinstance(policy, skills_policy.SkillsPolicy):
        return skills_policy.skills_policy_to_plain(policy)
    plain: dict[str, JsonValue] = {}
    for field in fields(policy):
        value = getattr(policy, field.name)
        plain[field.name] = value.value if isinstance(value, StrEnum) else value
    return plain


def _read(kind: type[PolicyT], document: JsonObject) -> PolicyT:
    defaults = kind()
    names = {field.name for field in fields(defaults)}
    for name in document:
        if name not in names:
            raise policy_shapes.bad_field(
                name, f"is not a field of this policy; there are {', '.join(sorted(names))}"
            )
    given = {name: _value(name, value, getattr(defaults, name)) for name, value in document.items()}
    return kind(**given)  # type: ignore[arg-type]


def _value(name: str, value: JsonValue, default: object) -> bool | int | SearchVisibility:
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise policy_shapes.bad_field(name, "is neither true nor false")
        return value
    if isinstance(default, SearchVisibility):
        if value not in SearchVisibility.__members__.values():
            raise policy_shapes.bad_field(name, f"is not one of {', '.join(SearchVisibility)}")
        return SearchVisibility(str(value))
    if isinstance(value, bool) or not isinstance(value, int):
        raise policy_shapes.bad_field(name, "is not a whole number")
    least, most = RANGES[name]
    if not least <= value <= most:
        raise policy_shapes.bad_field(name, f"is {value}, outside {least} to {most}")
    return value
