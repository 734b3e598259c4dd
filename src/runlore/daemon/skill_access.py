"""Skills as callers ask for them: what a session may use, pages, the log, and a skill that is opened."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from runlore.daemon.calls.access import own_session
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import cut_page
from runlore.daemon.parts import Parts
from runlore.daemon.promoted_checks import mend_promoted
from runlore.daemon.runs.run_access import UnstoredRuns, own_run, own_run_turn
from runlore.daemon.skills.skill_cache import ActiveSkills
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.capability import Capabilities, combine
from runlore.domain.errors import Denied, NotFound, Refused
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.run import Run
from runlore.domain.session import Binding, Session, SessionId
from runlore.domain.skill import Skill, SkillEvent, SkillOrigin, SkillState
from runlore.domain.skills.rollout import PromotedSkill, RolloutStatus
from runlore.flow.skills.catalogue import agrees, as_recorded, as_skill, row_of
from runlore.flow.skills.library import add_doubts, skill_named, skills_in_states
from runlore.flow.skills.promoted_use import as_used, note_use, open_promoted, usable_by
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction

if TYPE_CHECKING:
    from runlore.flow.skills import skill_usage
else:
    skill_usage = LazyModule("runlore.flow.skills.skill_usage")

_PAGE = limits.LIST_LIMIT_MAX
_ACTIVE = frozenset({SkillState.ACTIVE})


def session_capabilities(collections: Collections, binding: Binding) -> Capabilities:
    """What a session and its persona leave to the agent (SCO-4)."""
    persona = None
    if binding.persona_id is not None:
        persona = collections.sessions.find_persona(binding.persona_id)
    return combine(None if persona is None else persona.capability_scope, binding.capability_scope)


@dataclass(frozen=True, kw_only=True)
class SkillInUse:
    """A skill that is used, and the record that it was promoted by, of the same moment."""

    skill: Skill
    promoted: PromotedSkill | None = None


@dataclass(frozen=True, kw_only=True)
class UsedSkills:
    """Opens skills for one caller."""

    parts: Parts
    caller: Caller

    def use(self, request: ops.UseSkill) -> Skill:
        """The skill, counted for the run that opens it; nothing is counted for a run that is not stored."""
        skill = self.open(request).skill
        with self.parts.store.snapshot() as snapshot:
            return next(add_doubts(snapshot, [skill]))

    def open(self, request: ops.UseSkill) -> SkillInUse:
        """The same, with its record where it is a promoted one: whoever executes that keeps which words it
        went by. For a run of an agent elsewhere it is kept here."""
        name = askable(request.name, "skill")
        store = self.parts.store
        unstored = UnstoredRuns(runs=self.parts.private_runs, caller=self.caller)
        if request.run_id is None or unstored.holds(store, request.run_id):
            return self._check_mounted(
                lambda snapshot: self._open(snapshot, name, self._session(snapshot, request, unstored))
            )
        run_id = request.run_id
        self._check_mounted(
            lambda snapshot: self._open(snapshot, name, own_run(snapshot, self.caller, run_id)[1])
        )
        with store.transaction() as tx:
            run, session = own_run_turn(tx, self.caller, request.run_id)
            # Before it is read: what is handed out is not revoked or changed meanwhile.
            suggestions_turn(tx)
            return self._note_use(tx, self._open(tx, name, session), run)

    def _note_use(self, tx: Transaction, found: SkillInUse, run: Run) -> SkillInUse:
        """What is opened, counted for a run, and kept as executed by it where it is a promoted one."""
        now, skill_id = self.parts.clock.now(), found.skill.skill_id
        if found.promoted is None:
            skill_usage.use(tx, found.skill, run, now)
            return replace(found, skill=tx.skills.get(skill_id))
        if row_of(tx, found.skill.name) is not None:
            skill_usage.use(tx, found.skill, run, now)
        note_use(tx, found.promoted, run, now)
        return replace(found, skill=as_used(tx, found.promoted))

    def _check_mounted(self, opened_in: Callable[[Collections], SkillInUse]) -> SkillInUse:
        """What is opened, with the row and the file of a mounted one as its record says, before anything is
        handed out."""
        with self.parts.store.snapshot() as snapshot:
            found = opened_in(snapshot)
            is_mounted = found.promoted is not None and found.promoted.status is RolloutStatus.ACTIVE
            is_behind = found.promoted is not None and not agrees(snapshot, found.promoted)
        if is_behind:
            mend_promoted(self.parts)
        if is_mounted:
            self.parts.library.check_file(found.skill)
        return found

    def _session(
        self, collections: Collections, request: ops.UseSkill, unstored: UnstoredRuns
    ) -> Session | None:
        """The session that a skill is opened in; None for those who are bound to none."""
        session_id = request.session_id
        if request.run_id is not None:
            run = unstored.find(collections, request.run_id)
            found = None if run is None else collections.sessions.find(run.session_id)
            session_id = session_id if found is None else found.session_id
        if session_id is not None:
            return own_session(collections, self.caller, SessionId(askable(session_id, "session")))
        if self.caller.role is Role.AGENT or self.caller.scopes is not None:
            raise Denied(
                f"{self.caller.actor} is bound to sessions, and opens skills in one",
                code="session.required",
                hint="give the run_id, or the session_id of the session that you work in",
            )
        return None

    def _open(self, collections: Collections, name: str, session: Session | None) -> SkillInUse:
        found = self._find(collections, name, session)
        skill = found.skill
        if skill.state is not SkillState.ACTIVE:
            raise NotFound(
                f"skill {skill.name} is gone",
                code="skill.not-found",
                hint=f"`runlore skill restore {skill.skill_id}` brings it back",
            )
        if session is not None and not session_capabilities(collections, session.binding).allows_skill(
            skill.name
        ):
            raise Denied(
                f"session {session.session_id} may not use skill {skill.name}",
                code="skill.denied",
                hint="its capability scope, or that of its persona, leaves the skill out",
            )
        if not skill.is_usable:
            # What it names as its sources may be a stranger's words: an agent gets none of them.
            raise Refused(
                f"nobody has vouched for skill {skill.name} yet: it has words from outside",
                code="skill.tainted",
                hint=f"`runlore skill accept {skill.name}` shows it to whoever may let it out",
            )
        return found

    def _find(self, collections: Collections, name: str, session: Session | None) -> SkillInUse:
        """A promoted skill by its record, which alone says who may use it; any other by its row."""
        session_id = None if session is None else session.session_id
        promoted = open_promoted(collections, name, session_id=session_id, now=self.parts.clock.now())
        if promoted is not None:
            return SkillInUse(skill=as_used(collections, promoted), promoted=promoted)
        skill = skill_named(collections, name)
        if skill.origin is not SkillOrigin.PROMOTED:
            return SkillInUse(skill=skill)
        if name != skill.name:
            return self._find(collections, skill.name, session)
        raise NotFound(
            f"there is no skill {name!r:.80}",
            code="skill.not-found",
            hint="`runlore skill list` shows the names",
        )


def session_shelf(
    collections: Collections, shelf: ActiveSkills, session_id: SessionId, *, now: datetime
) -> tuple[Skill, ...]:
    """The skills that a session sees at this moment, by name: all that are usable, and what is in canary for
    it. Promoted ones as their records say."""
    rows = {skill.name: skill for skill in collections.skills.active()}
    promoted = usable_by(collections, shelf.promoted, session_id=session_id, now=now)
    own = [skill for skill in rows.values() if skill.origin is not SkillOrigin.PROMOTED]
    theirs = [as_recorded(rows.get(name) or as_skill(each), each) for name, each in promoted.items()]
    return tuple(
        sorted((skill for skill in (*own, *theirs) if skill.is_usable), key=lambda skill: skill.name)
    )


def all_skills(collections: Collections, states: frozenset[SkillState]) -> tuple[Skill, ...]:
    """All skills in some states, the active ones unless states are named, by name and id."""
    if (states or _ACTIVE) == _ACTIVE:
        return collections.skills.active()
    return tuple(
        sorted(skills_in_states(collections, states), key=lambda skill: (skill.name, skill.skill_id))
    )


def page_of(skills: Iterable[Skill], *, limit: int, cursor: str | None) -> ops.SkillPage:
    """A page of skills that are in the order of their names."""
    name, _, skill_id = (cursor or "").partition(":")
    left = [skill for skill in skills if (skill.name, skill.skill_id) > (name, skill_id)]
    items, onward = cut_page(left, limit, lambda skill: f"{skill.name}:{skill.skill_id}")
    return ops.SkillPage(items=items, next_cursor=onward)


def events_of(
    collections: Collections, name: str | None, *, before: int | None, limit: int
) -> tuple[SkillEvent, ...]:
    """Lines of the log, the newest first: all, or those about the skill of a name or an id."""
    if name is None:
        return collections.skills.events(limit=limit, before=before)
    found: list[SkillEvent] = []
    while len(found) < limit:
        page = collections.skills.events(limit=_PAGE, before=before)
        if not page:
            break
        found += [event for event in page if name in (event.name, event.skill_id)]
        before = page[-1].number
    return tuple(found[:limit])
