"""Who may use a promoted skill (ROL-4, ROL-8, ROL-9), what is kept of it, and what the records say that the
catalogue does not.

Asked of the record each time: that it is active with its own evidence, or in canary for the session that
asks, and that its learning stands at this moment.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.errors import Conflict, Corrupt, NotFound, Refused
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import Act
from runlore.domain.run import Run
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill, SkillOrigin, SkillState
from runlore.domain.skills.rollout import Execution, ExecutionKind, PromotedSkill, RolloutStatus
from runlore.flow.skills.catalogue import agrees, as_recorded, as_skill, follow, row_of, take_out
from runlore.flow.skills.sources import GONE, every_promoted, revoke_because
from runlore.ports.store import Collections, Transaction

if TYPE_CHECKING:
    from runlore.domain import rollouts
else:
    rollouts = LazyModule("runlore.domain.rollouts")

_SHOWN = frozenset({RolloutStatus.CANARY, RolloutStatus.ACTIVE})
_PAGE = limits.LIST_LIMIT_MAX


def list_shown(collections: Collections) -> tuple[PromotedSkill, ...]:
    """Those that anybody may see, with all that their records need, by name: the same until one changes."""
    return tuple(each for each in _iterate_shown(collections) if unproven_because_of(each) is None)


def usable_by(
    collections: Collections,
    promoted: Iterable[PromotedSkill],
    *,
    session_id: SessionId | None,
    now: datetime,
) -> Mapping[str, PromotedSkill]:
    """Those of the `list_shown` ones that a session may use at this moment, by name: of all at once it is
    asked whether their learnings stand."""
    seen = [each for each in promoted if _is_for(each, session_id)]
    sources = collections.records.get_many([each.source_record_id for each in seen]) if seen else {}
    return {each.name: each for each in seen if not _source_problem(each, sources, now)}


def standing(collections: Collections, skills: Iterable[Skill], now: datetime) -> tuple[Skill, ...]:
    """Skills without those that were promoted from a learning which has expired: what time takes away is gone
    before any sweep has come by (ROL-10)."""
    found = tuple(skills)
    mounted = [each.name for each in found if each.origin is SkillOrigin.PROMOTED and each.is_there]
    promoted = [each for name in mounted if (each := _readable(collections, name)) is not None]
    sources = collections.records.get_many([each.source_record_id for each in promoted]) if promoted else {}
    gone = {
        each.name
        for each in promoted
        if (source := sources.get(each.source_record_id)) is not None and source.is_expired(now)
    }
    return tuple(each for each in found if each.name not in gone or each.origin is not SkillOrigin.PROMOTED)


def _readable(collections: Collections, name: str) -> PromotedSkill | None:
    with suppress(Corrupt):
        return collections.promotions.find(name)
    return None


def unproven_because_of(promoted: PromotedSkill) -> "rollouts.Unproven | None":
    """What an active one lacks; one in canary, with words that were verified, is still to prove itself."""
    found = rollouts.unproven_because(promoted)
    still_to_prove = promoted.status is not RolloutStatus.ACTIVE and found in (
        rollouts.Unproven.CANARY,
        rollouts.Unproven.FAILED,
    )
    return None if still_to_prove else found


def source_problem(collections: Collections, promoted: PromotedSkill, now: datetime) -> str:
    """What is wrong with the learning that it was promoted from; nothing where that stands."""
    return _source_problem(promoted, collections.records.get_many([promoted.source_record_id]), now)


def open_promoted(
    collections: Collections, name: str, *, session_id: SessionId | None, now: datetime
) -> PromotedSkill | None:
    """The promoted skill of a name that a session may use; None where there is none for it.

    Refused (`promoted.unproven`, `promoted.source`) where the catalogue has it, and it may not be used.
    """
    found = collections.promotions.find(name)
    if found is None or not _is_for(found, session_id):
        return None
    if (unproven := unproven_because_of(found)) is not None:
        raise Refused(
            f"promoted skill {name} may not be used: {unproven}",
            code="promoted.unproven",
            hint=f"`runlore skill rollout revoke {name}`, and promote it anew",
        )
    if problem := source_problem(collections, found, now):
        raise Refused(
            f"promoted skill {name} may not be used: {problem}",
            code="promoted.source",
            hint="promote a procedure that stands",
        )
    return found


def as_used(collections: Collections, promoted: PromotedSkill) -> Skill:
    """A promoted skill as it is handed out: the record's words, with the usage of its row."""
    row = row_of(collections, promoted.name)
    is_there = row is not None and row.state is SkillState.ACTIVE
    return as_recorded(row, promoted) if row is not None and is_there else as_skill(promoted)


def as_seen(
    collections: Collections, skill: Skill, *, session_id: SessionId | None, now: datetime
) -> Skill | None:
    """A skill as a session sees it at this moment; None where it may not use it any more."""
    found = None
    if skill.origin is SkillOrigin.PROMOTED:
        with suppress(Corrupt, Refused):
            promoted = open_promoted(collections, skill.name, session_id=session_id, now=now)
            found = None if promoted is None else as_used(collections, promoted)
    else:
        with suppress(NotFound):
            found = collections.skills.get(skill.skill_id)
    return found if found is not None and found.is_usable else None


def note_use(tx: Transaction, promoted: PromotedSkill, run: Run, at: datetime) -> None:
    """Keep that an agent elsewhere works by the words of a promoted skill in a run of its own.

    Runlore's own agent has a child do that, and that run is the one that is kept. A run that has ended has
    come to whatever it came to without these words.
    """
    if run.executor is not None or run.is_terminal:
        return
    tx.promotions.add_execution(
        Execution(
            run_id=run.run_id,
            skill_name=promoted.name,
            fingerprint=promoted.fingerprint,
            kind=ExecutionKind.USE,
            at=at,
            session_id=run.session_id,
        )
    )


class Wrong(StrEnum):
    """What is wrong with a promoted skill, in words."""

    UNPROVEN = "promoted skill {name} stands without evidence, and is not mounted: {because}"
    SOURCE = "promoted skill {name} is not revoked, and {because}"
    ROW = "promoted skill {name} is not in the catalogue as its record says"
    STRAY = "skill {name} says that it was promoted, and no record does"
    DAMAGED = "the record of promoted skill {name} cannot be read, and it is not mounted"


@dataclass(frozen=True, kw_only=True)
class PromotedFault:
    """Something that is wrong with one promoted skill, and whether it can be put right by itself."""

    name: str
    wrong: Wrong
    because: str = ""

    @property
    def message(self) -> str:
        return self.wrong.format(name=self.name, because=self.because)

    @property
    def is_mended(self) -> bool:
        """Whether `mend` puts it right: what is missing in a record is never guessed."""
        return self.wrong in (Wrong.SOURCE, Wrong.ROW, Wrong.STRAY)

    @property
    def hint(self) -> str:
        if self.wrong is Wrong.DAMAGED:
            return "restore the store from a backup"
        if self.is_mended:
            return "`runlore doctor --repair` has the catalogue follow the records"
        return f"`runlore skill rollout revoke {self.name}`, and promote the procedure anew"


def findings(collections: Collections, now: datetime) -> Iterator[PromotedFault]:
    readable = {each.name: each for each in every_promoted(collections)}
    for name in sorted(collections.promotions.names() - readable.keys()):
        yield PromotedFault(name=name, wrong=Wrong.DAMAGED)
    for promoted in readable.values():
        yield from _wrong_with(collections, promoted, now)
    for row in _strays(collections, frozenset(readable)):
        yield PromotedFault(name=row.name, wrong=Wrong.STRAY)


def mend(tx: Transaction, act: Act) -> None:
    """Have the catalogue say what the records say, and revoke those whose learning does not stand; the caller
    has the turn."""
    promoted = tuple(every_promoted(tx))
    for each in promoted:
        if each.status is not RolloutStatus.REVOKED and source_problem(tx, each, act.at):
            revoke_because(tx, each, GONE, act)
            continue
        # Where another skill has its name it stays out, and is told of.
        with suppress(Conflict):
            follow(tx, each, act)
    for row in _strays(tx, frozenset(each.name for each in promoted)):
        take_out(tx, row, act)


def _iterate_shown(collections: Collections) -> Iterator[PromotedSkill]:
    """Those that anybody may see, by name; what is damaged hides itself alone."""
    after: str | None = None
    try:
        found = list[PromotedSkill]()
        while page := collections.promotions.page(limit=_PAGE, after=after, statuses=_SHOWN):
            found += page
            after = page[-1].name
    except Corrupt:
        found = [each for each in every_promoted(collections) if each.status in _SHOWN]
    yield from found


def _is_for(promoted: PromotedSkill, session_id: SessionId | None) -> bool:
    is_drawn = session_id is not None and rollouts.in_canary(promoted, session_id)
    return promoted.status is RolloutStatus.ACTIVE or is_drawn


def _source_problem(promoted: PromotedSkill, sources: Mapping[RecordId, Record], now: datetime) -> str:
    source = sources.get(promoted.source_record_id)
    if source is None:
        return f"learning {promoted.source_record_id} is not there"
    try:
        rollouts.check_source(source, now)
    except Refused as refused:
        return refused.sentence
    return ""


def _wrong_with(collections: Collections, promoted: PromotedSkill, now: datetime) -> Iterator[PromotedFault]:
    is_shown = promoted.status in _SHOWN
    if is_shown and (unproven := unproven_because_of(promoted)) is not None:
        yield PromotedFault(name=promoted.name, wrong=Wrong.UNPROVEN, because=unproven.value)
    is_revoked = promoted.status is RolloutStatus.REVOKED
    if not is_revoked and (problem := source_problem(collections, promoted, now)):
        yield PromotedFault(name=promoted.name, wrong=Wrong.SOURCE, because=problem)
    elif not agrees(collections, promoted):
        yield PromotedFault(name=promoted.name, wrong=Wrong.ROW)


def _strays(collections: Collections, known: frozenset[str]) -> tuple[Skill, ...]:
    """Rows of the catalogue that say they were promoted, of which no record can be read."""
    counted = collections.skills.count().get((SkillOrigin.PROMOTED, SkillState.ACTIVE), 0)
    rows = (row_of(collections, name) for name in known)
    if counted == sum(row is not None and row.state is SkillState.ACTIVE for row in rows):
        return ()
    return tuple(
        skill
        for skill in collections.skills.active()
        if skill.origin is SkillOrigin.PROMOTED and skill.name not in known
    )
