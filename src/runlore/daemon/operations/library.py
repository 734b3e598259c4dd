"""The library of skills: saving, reading, matching, using, curating, undoing.

Rows come first and files follow, after the transaction: what becomes of a file changes no answer. Before an
act the files are looked at, so that what somebody has written is theirs before anything is done with it.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from runlore.daemon.calls.access import asks_privately, own_session
from runlore.daemon.calls.idempotency import Call, Done, EarlierResult
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import check_limit, check_query, cut_page, number_of, short_text
from runlore.daemon.operations.bound import Bound, operation, reasoned_call
from runlore.daemon.skill_access import (
    UsedSkills,
    all_skills,
    events_of,
    page_of,
    session_capabilities,
    session_shelf,
)
from runlore.daemon.skills.choice import SkillQuery
from runlore.domain import limits
from runlore.domain.access import Role
from runlore.domain.capability import Capabilities
from runlore.domain.errors import Denied, Invalid, NotFound
from runlore.domain.guard.entry import without_secret
from runlore.domain.lazy import LazyModule
from runlore.domain.records.audit import Act
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill, SkillId, SuggestionId
from runlore.domain.skills.skill_curation import Curation, CurationId
from runlore.domain.suggesting.naming import is_valid_name
from runlore.domain.suggestion import StoredSuggestion
from runlore.flow.policies import current_skills
from runlore.flow.skills import library
from runlore.flow.skills.deciding import reset_skips
from runlore.flow.skills.machines import note_mounts
from runlore.flow.skills.promoted_use import standing
from runlore.flow.skills.saving import Saving, save
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction

if TYPE_CHECKING:
    from runlore.flow.pipeline import repeating
    from runlore.flow.skills import curating
else:
    repeating = LazyModule("runlore.flow.pipeline.repeating")
    curating = LazyModule("runlore.flow.skills.curating")

_log = logging.getLogger(__name__)


class LibraryActs(Bound):
    """What can be done with skills."""

    @operation
    def save_skill(self, request: ops.SaveSkill) -> Skill:
        if request.name is not None:
            _check_name(request.name)

        def suggestion(tx: Transaction) -> StoredSuggestion:
            name = askable(request.suggestion, "suggestion")
            return tx.suggestions.find(name=name) or tx.suggestions.get(SuggestionId(name))

        def do(tx: Transaction, act: Act) -> Skill:
            stored = suggestion(tx)
            skill = save(
                tx,
                stored,
                self._saving(act),
                name=request.name,
                accept_untrusted=request.accept_untrusted,
                expected_revision=request.expected_revision,
            )
            repeating.remember_saved(tx, skill, stored, self._saving(act), is_reviewed=True)
            return skill

        call = Call(operation="save_skill", request=request, key=request.idempotency_key)
        skill = self._act_on_skill(call, do, about=suggestion)
        # A suggestion that was skipped is saved by now, and not in that list any more.
        self._tell(self.parts.library.mirror_skips())
        return skill

    @operation
    def import_skill(self, request: ops.ImportSkill) -> Skill:
        source = short_text("the source", request.source, limits.ID_CHARS_MAX)
        if not source:
            raise Invalid(
                "the source of a skill is blank", code="skill.source", hint="say where it comes from"
            )
        without_secret("the source", source)
        if request.name is not None:
            _check_name(request.name)
        read = self.parts.library.read(request.text)
        return self._act_on_skill(
            Call(operation="import_skill", request=request, key=request.idempotency_key),
            lambda tx, act: library.import_skill(
                tx, read, self._saving(act), source=source, name=request.name
            ),
        )

    @operation
    def list_skills(self, request: ops.SkillsRequest) -> ops.SkillPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        self.parts.library.keep_fresh()
        with self.parts.store.snapshot() as snapshot:
            found = standing(snapshot, all_skills(snapshot, request.states), self.parts.clock.now())
            wanted = (skill for skill in found if not request.origins or skill.origin in request.origins)
            page = page_of(wanted, limit=limit, cursor=request.cursor)
            items = tuple(library.add_doubts(snapshot, page.items))
        return replace(page, items=tuple(self.parts.library.add_remarks(items)))

    @operation
    def get_skill(self, name: str) -> Skill:
        self.parts.library.keep_fresh()
        with self.parts.store.snapshot() as snapshot:
            skill = library.skill_named(snapshot, askable(name, "skill"))
            if standing(snapshot, [skill], self.parts.clock.now()):
                return next(self.parts.library.add_remarks(library.add_doubts(snapshot, [skill])))
        raise NotFound(
            f"skill {skill.name} is gone: its learning has expired",
            code="skill.not-found",
            hint="`runlore skill list` shows the names",
        )

    @operation
    def accept_skill(self, request: ops.AcceptSkill) -> Skill:
        def find_skill(tx: Transaction) -> Skill:
            return library.skill_named(tx, askable(request.name, "skill"))

        def do(tx: Transaction, act: Act) -> Skill:
            before = find_skill(tx)
            skill = library.accept(
                tx, before, act, force=request.force, expected_revision=request.expected_revision
            )
            if skill is not before:
                stored = library.suggestion_of(tx, skill)
                repeating.remember_saved(tx, skill, stored, self._saving(act), is_reviewed=True)
            return skill

        return self._act_on_skill(
            reasoned_call("accept_skill", request),
            do,
            about=lambda tx: library.suggestion_of(tx, find_skill(tx)),
        )

    @operation
    def delete_skill(self, name: str) -> Skill:
        def do(tx: Transaction, act: Act) -> Skill:
            asked = askable(name, "skill")
            # One that is gone already is answered as it is: a second call changes nothing.
            return library.delete(tx, tx.skills.find(asked) or library.get_deleted_skill(tx, asked), act)

        return self._act_on_skill(Call(operation="delete_skill", request=name, key=None), do)

    @operation
    def restore_skill(self, name: str) -> Skill:
        skill = self._act_on_skill(
            Call(operation="restore_skill", request=name, key=None),
            lambda tx, act: library.restore(tx, library.get_deleted_skill(tx, askable(name, "skill")), act),
        )
        self._tell(self.parts.library.mirror_skips())
        return skill

    @operation
    def settle_skill_file(self, request: ops.SettleFile) -> Skill:
        with self.parts.store.snapshot() as snapshot:
            name = library.skill_named(snapshot, askable(request.name, "skill")).name
        act = Act(actor=self.caller.actor, at=self.parts.clock.now(), reason="its file is taken as it is")
        self.parts.library.settle(name, act, keep_file=request.keep is ops.Keep.FILE)
        return self.get_skill(name)

    @operation
    def match_skills(self, request: ops.MatchRequest) -> ops.FittingSkills:
        query = check_query(request.query)
        limit = None if request.limit is None else check_limit(request.limit, limits.LIST_LIMIT_MAX)

        def turn(collections: Collections) -> SkillQuery:
            policy = current_skills(collections)
            capabilities = self._capabilities(collections, request.session_id)
            leaves = self.parts.library.sends_elsewhere
            return SkillQuery(
                query=query,
                capabilities=capabilities,
                max_auto_load=policy.max_auto_load,
                max_lazy_slots=policy.max_lazy_slots if limit is None else limit,
                is_private=leaves and asks_privately(collections, self.caller, request.session_id),
                plainly=self.caller.role is Role.AGENT,
                session_id=request.session_id,
            )

        return self.parts.library.match(turn)

    @operation
    def session_skills(self, session_id: SessionId) -> tuple[Skill, ...]:
        self.parts.library.keep_fresh()
        with self.parts.store.snapshot() as snapshot:
            capabilities = self._capabilities(snapshot, session_id)
            shelf = self.parts.library.shelf(snapshot)
            shown = session_shelf(snapshot, shelf, session_id, now=self.parts.clock.now())
            allowed = (skill for skill in shown if capabilities.allows_skill(skill.name))
            return tuple(library.add_doubts(snapshot, allowed))

    @operation
    def use_skill(self, request: ops.UseSkill) -> Skill:
        self.parts.library.keep_fresh()
        return UsedSkills(parts=self.parts, caller=self.caller).use(request)

    @operation
    def curate_skills(self, request: ops.CurateRequest) -> ops.CurateAnswer:
        self.parts.library.refresh()
        if not request.apply:
            act = Act(actor=self.caller.actor, at=self.parts.clock.now())
            with self.parts.store.snapshot() as snapshot:
                return ops.CurateAnswer(actions=curating.look(snapshot, act).actions)

        def do(tx: Transaction, act: Act) -> Done[ops.CurateAnswer]:
            suggestions_turn(tx)
            curation = curating.apply(tx, curating.look(tx, act), self._saving(act))
            numbers: dict[str, int] = {} if curation is None else {curation.curation_id: 0}
            return Done(_curate_answer(curation), numbers=numbers)

        call = Call(operation="curate_skills", request=request, key=request.idempotency_key)
        answer = self.acting.perform(call, do, _curated_again)
        if answer.curation is not None:
            self._follow(answer.curation.before)
        return answer

    @operation
    def undo_curation(self, curation_id: CurationId | None, idempotency_key: str | None = None) -> Curation:
        self.parts.library.refresh()
        asked = None if curation_id is None else CurationId(askable(curation_id, "curation"))

        def do(tx: Transaction, act: Act) -> Done[Curation]:
            suggestions_turn(tx)
            known = None if asked is None else tx.curations.get(asked)
            if known is not None and known.undone_at is not None:
                return Done(known, name=known.curation_id)
            undone = curating.undo(tx, asked, act)
            return Done(undone, name=undone.curation_id)

        call = Call(operation="undo_curation", request=curation_id, key=idempotency_key)
        undone = self.acting.perform(call, do, lambda kept: kept.tx.curations.get(CurationId(kept.name)))
        self._follow(undone.before)
        # What was skipped and is back is not in that list any more.
        self._tell(self.parts.library.mirror_skips())
        return undone

    @operation
    def list_curations(self, limit: int = limits.LIST_LIMIT_DEFAULT) -> tuple[Curation, ...]:
        with self.parts.store.snapshot() as snapshot:
            return snapshot.curations.page(limit=check_limit(limit, limits.LIST_LIMIT_MAX))

    @operation
    def reset_skips(self, name: str | None = None) -> tuple[StoredSuggestion, ...]:
        asked = None if name is None else askable(name, "suggestion")
        with self.parts.store.transaction() as tx:
            suggestions_turn(tx)
            act = Act(actor=self.caller.actor, at=self.parts.clock.now())
            waiting = reset_skips(tx, asked, act)
        self._tell(self.parts.library.mirror_skips())
        return waiting

    @operation
    def note_mounts(self, request: ops.MachineMounts) -> ops.MachineMounts:
        if len(request.folders) > limits.MOUNT_FOLDERS_MAX:
            raise Invalid(
                f"a machine has at most {limits.MOUNT_FOLDERS_MAX} folders with copies",
                code="skill.mount-folder",
                hint="name fewer",
            )
        _check_text("the machine's name", request.machine, limits.ID_CHARS_MAX)
        for folder in request.folders:
            _check_text("a folder", folder, limits.PATH_CHARS_MAX)
        with self.parts.store.transaction() as tx:
            note_mounts(tx, request.machine, request.folders)
        return request

    @operation
    def skill_log(self, request: ops.SkillLogRequest) -> ops.SkillLog:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        name = None if request.name is None else askable(request.name, "skill")
        before = None if request.cursor is None else number_of(request.cursor)
        with self.parts.store.snapshot() as snapshot:
            found = events_of(snapshot, name, before=before, limit=limit + 1)
        items, cursor = cut_page(found, limit, lambda event: str(event.number))
        return ops.SkillLog(items=items, next_cursor=cursor)

    def _act_on_skill(
        self,
        call: Call,
        do: Callable[[Transaction, Act], Skill],
        *,
        about: Callable[[Transaction], StoredSuggestion | None] = lambda _tx: None,
    ) -> Skill:
        """An act on one skill: the row in one transaction, then its file. What the suggestion that it is
        `about` proposes may be decided with it."""
        self.parts.library.refresh()

        def attempt(tx: Transaction, act: Act) -> Done[Skill]:
            repeating.workspace_turn(tx, *repeating.scopes_to_remember(tx, about(tx)))
            suggestions_turn(tx)
            skill = do(tx, act)
            return Done(skill, name=skill.skill_id)

        skill = self.acting.perform(call, attempt, lambda kept: kept.tx.skills.get(SkillId(kept.name)))
        self._follow([skill])
        return skill

    def _follow(self, skills: Iterable[Skill]) -> None:
        self._tell(self.parts.library.project(skills))
        self.mounts.follow()

    def _tell(self, remarks: Iterable[str]) -> None:
        for remark in remarks:
            _log.warning("a file of the skills is behind its row: %s", remark)

    def _saving(self, act: Act) -> Saving:
        return Saving(ids=self.parts.ids, act=act)

    def _capabilities(self, collections: Collections, session_id: SessionId | None) -> Capabilities:
        """What a session leaves to its agent. Who is bound to sessions has to name one."""
        if session_id is not None:
            asked = SessionId(askable(session_id, "session"))
            return session_capabilities(collections, own_session(collections, self.caller, asked).binding)
        if self.caller.role is Role.AGENT or self.caller.scopes is not None:
            raise Denied(
                f"{self.caller.actor} is bound to sessions, and asks for the skills of one",
                code="session.required",
                hint="give the session_id of the session that you work in",
            )
        return Capabilities()


def _curate_answer(curation: Curation | None) -> ops.CurateAnswer:
    return ops.CurateAnswer(actions=() if curation is None else curation.actions, curation=curation)


def _curated_again(kept: EarlierResult) -> ops.CurateAnswer:
    return _curate_answer(next((kept.tx.curations.get(CurationId(name)) for name in kept.numbers), None))


def _check_text(what: str, text: str, chars_max: int) -> None:
    if not 1 <= len(without_secret(what, text)) <= chars_max or not text.isprintable():
        raise Invalid(
            f"{what} has 1 to {chars_max:,} characters that can be shown",
            code="skill.mount-folder",
            hint="give another",
        )


def _check_name(name: str) -> None:
    if not is_valid_name(name):
        raise Invalid(
            f"a skill cannot be called {name[:80]!r}",
            code="skill.name",
            hint="use 1 to 64 small letters a-z, digits and single hyphens between them",
        )
