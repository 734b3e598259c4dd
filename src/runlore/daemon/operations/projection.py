"""Projection: what a session's next prompt would be given, what it was given, and what it can find.

Nothing here changes anything: what is missing, unreadable or too old is passed over.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TypeVar

from runlore.daemon.calls.access import may_use, own_session, readable_scopes
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import check_limit, check_query
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.runs.contexts import gather_context, input_of, near_query, reached_scopes
from runlore.daemon.runs.run_access import UnstoredRuns, explained_run
from runlore.daemon.search.index_sync import answer_together
from runlore.daemon.search.query_vector import QueryVector, remark_on
from runlore.daemon.skill_access import session_capabilities
from runlore.domain import limits
from runlore.domain.access import Role
from runlore.domain.errors import Corrupt, NotFound
from runlore.domain.policies.learning_policy import ProjectionPolicy
from runlore.domain.policies.policy import SearchVisibility
from runlore.domain.prompts.projection import Projection
from runlore.domain.record import Layer, Record
from runlore.domain.records.visibility import hidden_because
from runlore.domain.run import Run, RunId
from runlore.domain.runs.journal import text_of
from runlore.domain.scope import Scope
from runlore.domain.session import Binding, Session, SessionId
from runlore.domain.skill import SkillOrigin
from runlore.domain.timestamps import format_time
from runlore.flow.capture.provenance import conversation_provenance
from runlore.flow.policies import current_projection, current_run_memory, learning_then, run_memory_then
from runlore.flow.prompt_context.gathering import Input
from runlore.flow.prompt_context.hidden import (
    HiddenRecords,
    list_hidden_records,
    list_hidden_then,
    visible_lines,
)
from runlore.flow.prompt_context.learnings import (
    Learned,
    all_learned,
    best_for_goal,
    list_standing,
    select_learnings,
)
from runlore.flow.prompt_context.rebuild import rebuilt
from runlore.flow.prompt_context.recovered_runs import (
    RecoveredRuns,
    TrackedRuns,
    list_tracked_runs,
    list_tracked_then,
    load_recovered_runs,
)
from runlore.flow.prompt_context.run_search import Finder, RunSearch, read_runs
from runlore.flow.prompt_context.search import SearchSnapshot, index_differs
from runlore.flow.prompt_context.session_search import (
    SessionFound,
    SessionMatches,
    SessionQuery,
    gather,
    merge_results,
)
from runlore.flow.prompt_context.skill_search import RankedSkill, to_ranked
from runlore.flow.prompt_context.views import views_of
from runlore.flow.skills.promoted_use import usable_by
from runlore.ports import operations as ops
from runlore.ports.store import Collections

# Without an input a session is shown all that it is eligible for, up to so many.
_CONTEXT_ENTRIES_MAX = 100
# So many more runs than asked for, in case some memories are not there; then many more.
_SPARE_RUNS = (16, 1_000)
_NO_EPISODES = "episodes were not searched: a search of the memory finds them, in the layer episodic"

AnswerT = TypeVar("AnswerT")


class ProjectionActs(Bound):
    """Reading what prompts are given."""

    @operation
    def memory_context(self, request: ops.ContextRequest) -> ops.MemoryContext:
        query = None if request.query is None else check_query(request.query)
        session_id = SessionId(askable(request.session_id, "session"))
        now = request.as_of or self.parts.clock.now()
        asked = QueryVector()
        if query is not None:
            asked = near_query(self.parts, self.caller, query, session_id, as_of=request.as_of)

        def ask(reading: SearchSnapshot) -> tuple[ops.MemoryContext, TrackedRuns]:
            reading = reading.with_vectors(asked.vectors)
            snapshot = reading.snapshot
            session = own_session(snapshot, self.caller, session_id)
            binding = bound_then(snapshot, session, request.as_of)
            scopes = reached_scopes(self.caller, session, binding)
            skills = self._visible_skills(snapshot, session_id, binding, request.as_of)
            learned, hidden = _eligible(reading.at(request.as_of), query, scopes, now)
            answer = ops.MemoryContext(
                session_id=session.session_id,
                capability_scope=session_capabilities(snapshot, binding).merge_for_display(),
                learning_scopes=scopes,
                learned_context=_learned_context(learned),
                recovered_memory=ops.RecoveredMemory(),
                visible_skills=tuple(skill.name for skill in skills),
                skill_descriptions={skill.name: skill.skill.document.description for skill in skills},
                hidden=hidden.listed,
                hidden_omitted=hidden.omitted,
            )
            return answer, self._tracked_runs(snapshot, session_id, request.as_of)

        answer, tracked = self.parts.follower.answer(ask, has_words=query is not None)
        # Read with no snapshot open: where memories are a table, that takes a connection too.
        runs = load_recovered_runs(tracked, self.parts.run_memories)
        return replace(
            answer,
            recovered_memory=_recovered_memory(runs),
            semantic=asked.semantic,
            embedding_model=asked.model,
            remark=""
            if query is None
            else remark_on(
                query,
                asked,
                found_any=bool(answer.learned_context.entries),
                is_building=self.parts.follower.is_building,
            ),
        )

    @operation
    def session_search(self, request: ops.SessionSearchRequest) -> ops.SessionSearch:
        limit = check_limit(request.limit, limits.SEARCH_LIMIT_MAX)
        asked = ops.SessionSearchRequest(
            session_id=SessionId(askable(request.session_id, "session")),
            query=None if request.query is None else check_query(request.query),
            limit=limit,
            as_of=request.as_of,
        )
        building = self._is_building()
        try:
            found = self._search_session(asked)
        except Corrupt as error:
            if not index_differs(error):
                raise
            self.parts.run_follower.rebuild()
            found = self._search_session(asked)
        with self.parts.store.snapshot() as snapshot:
            tainted = _tainted_runs(snapshot, found[:limit])
        return ops.SessionSearch(
            session_id=asked.session_id,
            query=asked.query,
            results=tuple(
                ops.SessionHit(**{**vars(each), "tainted": each.tainted or each.source_id in tainted})
                for each in found[:limit]
            ),
            truncated=len(found) > limit,
            remark=""
            if asked.query is None
            else remark_on(
                asked.query, QueryVector(), found_any=bool(found), is_building=building or self._is_building()
            ),
            unsearched=() if found else (_NO_EPISODES,),
        )

    def _is_building(self) -> bool:
        return any(each.is_building for each in self.parts.followers)

    def _search_session(self, request: ops.SessionSearchRequest) -> list[SessionFound]:
        """Hits in a snapshot, then their memories; more hits where too many memories are not there."""
        moment = request.as_of or self.parts.clock.now()
        for spare in _SPARE_RUNS:

            def ask(
                readings: list[SearchSnapshot], spare: int = spare
            ) -> tuple[SessionQuery, SessionMatches, TrackedRuns]:
                learnings, runs = readings[0], readings[-1]
                session = own_session(runs.snapshot, self.caller, request.session_id)
                binding = bound_then(runs.snapshot, session, request.as_of)
                scopes = reached_scopes(self.caller, session, binding)
                asked = SessionQuery(scopes=scopes, query=request.query, limit=request.limit, now=moment)
                finder = _finder(runs.snapshot, request, scopes, moment)
                search = RunSearch.open(runs, replace(finder, may_use=self._may_use(runs.snapshot)))
                skills = self._visible_skills(runs.snapshot, session.session_id, binding, request.as_of)
                found = gather(learnings.at(request.as_of), search, asked, spare=spare, skills=skills)
                return asked, found, self._tracked_runs(runs.snapshot, session.session_id, request.as_of)

            asked, found, tracked = self._ask(ask, needs_index=request.query is not None)
            runs = read_runs(found.runs, self.parts.run_memories, request.query)
            if found.runs.is_all or len(runs) > request.limit:
                break
        in_prompt = load_recovered_runs(tracked, self.parts.run_memories).entries
        names = frozenset(memory.run_id for memory in in_prompt)
        return merge_results([*found.learnings, *found.skills], runs, asked, in_prompt=names)

    def _may_use(self, collections: Collections) -> Callable[[SessionId], bool] | None:
        """For an agent that is limited to no scopes, which sessions are its own; None for all others."""
        if self.caller.role is not Role.AGENT or self.caller.scopes is not None:
            return None

        @cache
        def is_its_own(session_id: SessionId) -> bool:
            session = collections.sessions.find(session_id)
            return session is not None and may_use(self.caller, session)

        return is_its_own

    def _ask(self, ask: Callable[[list[SearchSnapshot]], AnswerT], *, needs_index: bool) -> AnswerT:
        if needs_index:
            return answer_together(ask, self.parts.follower, self.parts.run_follower)
        return self.parts.follower.answer(lambda reading: ask([reading]))

    @operation
    def preview_input(self, request: ops.PreviewRequest) -> Projection:
        session_id = SessionId(askable(request.session_id, "session"))
        wanted = ops.NewRun(
            session_id=session_id,
            request=request.text,
            model=request.model,
            prompt_tokens=request.prompt_tokens,
        )
        entry = input_of(wanted)
        with self.parts.store.snapshot() as snapshot:
            session = own_session(snapshot, self.caller, session_id)
        asked = Input(
            session=session,
            scopes=reached_scopes(self.caller, session),
            text=text_of(entry.body),
            model=request.model,
            prompt_tokens=request.prompt_tokens,
        )
        return gather_context(self.parts, self.caller, asked, asked_in=session_id).projection

    @operation
    def receipt(self, run_id: RunId | None = None) -> ops.ReceiptView:
        unstored_runs = UnstoredRuns(runs=self.parts.private_runs, caller=self.caller)
        with self.parts.store.snapshot() as snapshot:
            unstored = None if run_id is None else unstored_runs.find(snapshot, run_id)
            if unstored is not None:
                view = ops.RunView(run=unstored, request="", stored=False)
                return ops.ReceiptView(run=view, receipt=None)
            run, session = explained_run(snapshot, self.caller, run_id, is_alone=self.parts.is_alone)
            text = snapshot.journal.inputs([run.run_id]).get(run.run_id, "")
            kept = snapshot.runs.get_receipt(run.run_id)
            tells = self._tells(snapshot, run, session)
            sections = () if kept is None else rebuilt(kept, snapshot.records, tells=tells)
        return ops.ReceiptView(run=ops.RunView(run=run, request=text), receipt=kept, sections=sections)

    def _tells(self, collections: Collections, run: Run, session: Session) -> Callable[[Record], bool]:
        """Which records a receipt tells again: those that the caller's token reaches, and to an agent, whose
        prompt it ends up in, what a prompt may still be given."""
        is_agent = self.caller.role is Role.AGENT
        if self.caller.scopes is None and not is_agent:
            return lambda _: True
        then = collections.sessions.binding_at(session.session_id, run.opened_at)
        reached = frozenset(reached_scopes(self.caller, session, then))
        now = self.parts.clock.now()
        return lambda record: record.scope in reached and not (is_agent and hidden_because(record, now))

    @operation
    def goal_context(self, request: ops.GoalRequest) -> ops.GoalContext:
        goal = check_query(request.goal)
        limit = check_limit(request.limit, limits.CONTEXT_PER_LAYER_MAX)
        now = request.as_of or self.parts.clock.now()
        session_id = None
        if request.session_id is not None:
            session_id = SessionId(askable(request.session_id, "session"))
        asked = near_query(self.parts, self.caller, goal, session_id, as_of=request.as_of)

        def ask(reading: SearchSnapshot) -> ops.GoalContext:
            if session_id is not None:
                session = own_session(reading.snapshot, self.caller, session_id)
                bound_then(reading.snapshot, session, request.as_of)
            scopes = readable_scopes(reading.snapshot, self.caller, session_id, at=request.as_of)
            then = reading.with_vectors(asked.vectors).at(request.as_of)
            best = {
                layer: tuple(
                    ops.SearchHit(record=found.record, score=found.score)
                    for found in best_for_goal(
                        then,
                        goal,
                        layer,
                        scopes=scopes,
                        limit=limit,
                        now=now,
                        in_session=session_id is not None,
                    )
                )
                for layer in (Layer.PROFILE, Layer.PROCEDURAL, Layer.SEMANTIC)
            }
            seen = sorted(scopes or ()) if session_id is not None else ()
            rules = list_standing(then, scopes=seen, now=now, views=None) if seen else ()
            return ops.GoalContext(
                goal=goal,
                profile=best[Layer.PROFILE],
                procedural=best[Layer.PROCEDURAL],
                semantic=best[Layer.SEMANTIC],
                standing=rules[:limit],
            )

        found = self.parts.follower.answer(ask, needs_index=True)
        found_any = bool(found.profile or found.procedural or found.semantic)
        building = self.parts.follower.is_building
        remark = remark_on(goal, asked, found_any=found_any, is_building=building)
        return replace(found, by_meaning=asked.semantic, embedding_model=asked.model, remark=remark)

    def _visible_skills(
        self, collections: Collections, session_id: SessionId, binding: Binding, moment: datetime | None
    ) -> tuple[RankedSkill, ...]:
        """The skills that a session may use, by name. What there was at a past moment is not kept."""
        if moment is not None:
            return ()
        capabilities = session_capabilities(collections, binding)
        shelf = self.parts.library.shelf(collections)
        canary = tuple(map(to_ranked, shelf.canary_of(session_id, capabilities).values()))
        allowed = (*(each for each in shelf.ranked if capabilities.allows_skill(each.name)), *canary)
        if all(each.skill.origin is not SkillOrigin.PROMOTED for each in allowed):
            return allowed
        # Of promoted ones their records are asked, at this moment.
        usable = usable_by(collections, shelf.promoted, session_id=session_id, now=self.parts.clock.now())
        seen = (each for each in allowed if _is_seen(each, usable))
        return tuple(sorted(seen, key=lambda each: each.name))

    def _tracked_runs(
        self, collections: Collections, session_id: SessionId, moment: datetime | None
    ) -> TrackedRuns:
        if moment is not None:
            then = run_memory_then(collections, moment)
            return list_tracked_then(collections, session_id, policy=then, moment=moment)
        policy = current_run_memory(collections)
        return list_tracked_runs(collections, session_id, policy=policy, now=self.parts.clock.now())


def _is_seen(each: RankedSkill, usable: Container[str]) -> bool:
    return each.skill.origin is not SkillOrigin.PROMOTED or each.name in usable


def _finder(
    collections: Collections, request: ops.SessionSearchRequest, scopes: tuple[Scope, ...], moment: datetime
) -> Finder:
    is_past = request.as_of is not None
    now = current_run_memory(collections)
    policy = run_memory_then(collections, moment) if is_past else now
    return Finder(
        session_id=request.session_id,
        scopes=frozenset(scopes),
        # Who may find what is decided now: asking for the past opens nothing that was closed since.
        own_only=SearchVisibility.SESSION_ONLY in (policy.search_visibility, now.search_visibility),
        policy=policy,
        now=moment,
        is_past=is_past,
    )


def bound_then(collections: Collections, session: Session, moment: datetime | None) -> Binding:
    # Nothing of a private session is stored, so it was never bound to anything else.
    if moment is None or (session.private and moment >= session.created_at):
        return session.binding
    binding = collections.sessions.binding_at(session.session_id, moment)
    if binding is None:
        raise NotFound(
            f"session {session.session_id} did not exist at {format_time(moment)}",
            code="session.not-found",
            hint="ask for a later moment; `runlore session show` tells when it was made",
        )
    return binding


def _eligible(
    reading: SearchSnapshot, query: str | None, scopes: tuple[Scope, ...], now: datetime
) -> tuple[Learned, HiddenRecords]:
    """What an input may be given, or without one everything that any input may; and what is hidden."""
    views = views_of(reading, scopes, now)
    if query is None:
        most = _CONTEXT_ENTRIES_MAX
        learned = all_learned(reading, scopes=scopes, now=now, entries_max=most, views=views)
    else:
        most = _projection(reading).max_entries
        learned = select_learnings(reading, query, scopes=scopes, now=now, entries_max=most, views=views)
    if views is not None:
        return learned, views.list_hidden()
    if reading.past is not None:
        return learned, list_hidden_then(reading, scopes=scopes, now=now)
    return learned, list_hidden_records(reading, visible_lines(reading, scopes), scopes=scopes, now=now)


def _projection(reading: SearchSnapshot) -> ProjectionPolicy:
    if reading.past is None:
        return current_projection(reading.snapshot)
    return learning_then(reading.snapshot, reading.past.moment).projection


def _learned_context(learned: Learned) -> ops.LearnedContext:
    standing = {entry.record_id for entry in learned.standing}
    others = (entry for entry in learned.entries if entry.record_id not in standing)
    entries = (*learned.standing, *others)
    return ops.LearnedContext(entries=entries, truncated=learned.omitted > 0, omitted=learned.omitted)


def _recovered_memory(runs: RecoveredRuns) -> ops.RecoveredMemory:
    omitted = len(runs.left_out)
    return ops.RecoveredMemory(entries=runs.entries, truncated=omitted > 0, omitted=omitted)


def _tainted_runs(collections: Collections, found: Sequence[SessionFound]) -> frozenset[str]:
    """Those of the runs that read from outside, or followed on such a run in one conversation."""
    runs = collections.runs.get_many(
        [RunId(each.source_id) for each in found if each.kind == "recovered_run"]
    )
    return frozenset(run.run_id for run in runs.values() if conversation_provenance(collections, run).tainted)
