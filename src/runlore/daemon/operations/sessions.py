"""Sessions and personas: what agents open, bind and end, and who they are in it."""

import logging
from dataclasses import replace
from functools import partial

from runlore.daemon.calls.access import own_session, require_bindable
from runlore.daemon.calls.idempotency import Call, Done, EarlierResult
from runlore.daemon.calls.lookups import askable, has_others_records
from runlore.daemon.calls.requests import check_limit, clean_text, cursor_at, cut_page, read_cursor
from runlore.daemon.calls.working_folders import WorkingFolder, unbound_proposal, working_folder
from runlore.daemon.operations.bound import operation
from runlore.daemon.operations.runs import RunActs
from runlore.daemon.parts import resolved_model
from runlore.daemon.runs.run_access import LONG_AGO
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.capability import capability_scope_of
from runlore.domain.errors import Conflict, Denied, NotFound
from runlore.domain.guard.entry import without_secret
from runlore.domain.project import FolderBinding, FolderId, parse_folder_id
from runlore.domain.records.audit import Act
from runlore.domain.run import OPEN
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import (
    UNBOUND,
    Binding,
    Persona,
    PersonaId,
    Session,
    SessionId,
    bind,
    refuse_secret_patterns,
)
from runlore.flow.capture.ending import SESSION_ENDED, interruption
from runlore.flow.capture.session_lock import session_turn
from runlore.flow.capture.sessions import (
    change_session,
    expect_session_revision,
    find_binding,
    get_binding,
    is_muted,
    make_session,
    put_binding,
    put_persona,
    require_same,
)
from runlore.flow.reactions import Closed
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction

_log = logging.getLogger(__name__)


class SessionActs(RunActs):
    """Sessions, personas, and the runs that agents report."""

    @operation
    def create_session(self, request: ops.NewSession) -> Session:
        folder = self._folder(request.working_folder)
        wanted = session_of(request, folder, self.caller)
        require_bindable(self.caller, wanted)
        self._require_workable(request.models, folder)

        def do(tx: Transaction, act: Act) -> Done[Session]:
            session_id = request.session_id or SessionId(self.parts.ids.new("ses", act.at))
            tx.lock({Scope(ScopeKind.SESSION, session_id)})
            session = replace(wanted, session_id=session_id, created_at=act.at, active_at=act.at)
            session = _without_title(tx, session)
            present = tx.sessions.find(session_id)
            if present is None:
                self._require_unused(tx, session)
            made = make_session(tx, session) if present is None else require_same(tx, present, session)
            return Done(made, name=session_id)

        call = Call(operation="create_session", request=request, key=request.idempotency_key)
        made = self.acting.perform(call, do, lambda kept: kept.tx.sessions.get(SessionId(kept.name)))
        if made.private and folder is not None:
            self.parts.private_runs.keep_folder(made.session_id, folder.path)
        return made

    @operation
    def change_session(self, change: ops.SessionChange) -> Session:
        session_id = _session_id(change.session_id)

        def do(tx: Transaction, act: Act) -> Done[tuple[Session, tuple[Closed, ...]]]:
            own_session(tx, self.caller, session_id)
            session = session_turn(tx, session_id)
            expect_session_revision(session, change.expected_revision)
            after = _without_title(tx, _apply_change(session, change, act), before=session)
            self._require_reopenable(session, after)
            if after.binding != session.binding:
                require_bindable(self.caller, after)
                self._require_unfreed(session, after)
            closed = self._end_runs(tx, session, act) if change.ended else ()
            return Done((change_session(tx, session, after, act.at), closed), name=session_id)

        def again(kept: EarlierResult) -> tuple[Session, tuple[Closed, ...]]:
            return kept.tx.sessions.get(SessionId(kept.name)), ()

        call = Call(operation="change_session", request=change, key=change.idempotency_key)
        session, closed = self.acting.perform(call, do, again)
        if change.ended:
            self._stop_own_runs(session_id)
        for each in closed:
            self.remembering.settle(each.run.run_id, each.job)
        return session

    @operation
    def get_session(self, session_id: SessionId) -> Session:
        with self.parts.store.snapshot() as snapshot:
            return own_session(snapshot, self.caller, _session_id(session_id))

    @operation
    def list_sessions(self, request: ops.PageRequest) -> ops.SessionPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        limited = self.caller.role is Role.AGENT or self.caller.scopes is not None
        with self.parts.store.snapshot() as snapshot:
            found = snapshot.sessions.page(
                limit=limit + 1,
                before=read_cursor(request.cursor, SessionId),
                scopes=self.caller.scopes,
                created_by=self.caller.actor if limited else None,
            )
        items, cursor = cut_page(found, limit, lambda each: cursor_at(each.created_at, each.session_id))
        return ops.SessionPage(items=items, next_cursor=cursor)

    @operation
    def put_folder(self, change: ops.FolderChange) -> FolderBinding:
        name = parse_folder_id(change.folder_id)
        if change.project is not None:
            Scope(ScopeKind.PROJECT, change.project)
            without_secret("the project's name", change.project)

        def do(tx: Transaction, act: Act) -> Done[FolderBinding]:
            wanted = FolderBinding(
                folder_id=name, project=change.project, capture=change.capture, updated_at=act.at
            )
            binding = put_binding(tx, wanted, expected_revision=change.expected_revision)
            return Done(binding, name=name)

        call = Call(operation="put_folder", request=change, key=change.idempotency_key)
        return self.acting.perform(call, do, lambda kept: get_binding(kept.tx, FolderId(kept.name)))

    @operation
    def get_folder(self, folder_id: FolderId) -> FolderBinding:
        with self.parts.store.snapshot() as snapshot:
            return get_binding(snapshot, parse_folder_id(folder_id))

    @operation
    def put_persona(self, change: ops.PersonaChange) -> Persona:
        Scope(ScopeKind.PERSONA, change.persona_id)
        without_secret("the persona's id", change.persona_id)
        name = clean_text("the name", change.name, limits.TITLE_CHARS_MAX)
        capability_scope = capability_scope_of(change.capability_scope)
        refuse_secret_patterns(capability_scope)

        def do(tx: Transaction, act: Act) -> Done[Persona]:
            persona = Persona(
                persona_id=change.persona_id,
                name=name,
                capability_scope=capability_scope,
                capture=change.capture,
                updated_at=act.at,
            )
            written = put_persona(tx, persona, expected_revision=change.expected_revision)
            return Done(written, name=change.persona_id)

        call = Call(operation="put_persona", request=change, key=change.idempotency_key)
        return self.acting.perform(call, do, lambda kept: kept.tx.sessions.get_persona(PersonaId(kept.name)))

    @operation
    def get_persona(self, persona_id: PersonaId) -> Persona:
        persona_id = PersonaId(askable(persona_id, "persona"))
        with self.parts.store.snapshot() as snapshot:
            persona = snapshot.sessions.get_persona(persona_id)
        if not self._reaches(persona):
            raise NotFound(
                f"there is no persona {persona_id!r} for {self.caller.actor}",
                code="persona.not-found",
                hint="this token is limited to other scopes",
            )
        return persona

    @operation
    def list_personas(self, request: ops.PageRequest) -> ops.PersonaPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        with self.parts.store.snapshot() as snapshot:
            found = snapshot.sessions.personas(limit=limit + 1, before=read_cursor(request.cursor, PersonaId))
        items, cursor = cut_page(found, limit, lambda each: cursor_at(each.updated_at, each.persona_id))
        return ops.PersonaPage(items=tuple(filter(self._reaches, items)), next_cursor=cursor)

    def _reaches(self, persona: Persona) -> bool:
        return self.caller.reaches(Scope(ScopeKind.PERSONA, persona.persona_id))

    def _folder(self, path: str | None) -> WorkingFolder | None:
        if path is None:
            return None
        if self.caller.role is not Role.OPERATOR:
            raise Denied(
                f"{self.caller.actor} has the role {self.caller.role}, and only an operator names a folder",
                code="session.folder",
                hint="leave working_folder out, and link the project with project_ids",
            )
        with self.parts.store.snapshot() as snapshot:
            folder = working_folder(path, partial(find_binding, snapshot))
        without_secret("the working folder", folder.path)
        if not folder.settled and (unbound := unbound_proposal(folder.path, (folder.project,))):
            _log.warning("in %s: %s", folder.path, unbound)
        return folder

    def _require_workable(self, models: tuple[str, ...], folder: WorkingFolder | None) -> None:
        """Refuse what would refuse the first input, before anything is written."""
        for model in models:
            resolved_model(self.parts, model)
        if models:
            self.parts.agent.require_room()
        if models and folder is not None:
            self.parts.workspaces.open(folder.path)

    def _require_unfreed(self, before: Session, after: Session) -> None:
        """An agent does not lift what restricts it."""
        if (
            self.caller.role is Role.AGENT
            and after.binding.capability_scope != before.binding.capability_scope
        ):
            raise Denied(
                f"{self.caller.actor} has the role agent, and only an operator restricts a session",
                code="session.capability",
                hint="leave capability_scope out",
            )
        persona_id = before.binding.persona_id
        if self.caller.role is Role.AGENT and persona_id not in (None, after.binding.persona_id):
            # The persona may restrict tools, or keep the session from being captured.
            raise Denied(
                f"{self.caller.actor} has the role agent, and only an operator takes a persona away",
                code="session.persona",
                hint="leave persona_id out",
            )

    def _require_reopenable(self, before: Session, after: Session) -> None:
        """An agent opens again what it has ended itself."""
        reopened = before.ended_at is not None and after.ended_at is None
        if reopened and self.caller.role is Role.AGENT and before.ended_by != self.caller.actor:
            raise Denied(
                f"session {before.session_id!r} was ended by somebody else",
                code="session.ended",
                hint="create a new session, or ask an operator to open this one again",
            )

    def _require_unused(self, tx: Transaction, session: Session) -> None:
        """An agent does not get what others have written about a session by taking its id."""
        if self.caller.role is Role.AGENT and has_others_records(
            tx.records, session.scope, session.created_by
        ):
            raise Conflict(
                f"the id {session.session_id!r} is in use: others have written in the scope {session.scope}",
                code="session.exists",
                hint="use another id, or leave it out",
            )

    def _end_runs(self, tx: Transaction, session: Session, act: Act) -> tuple[Closed, ...]:
        """Interrupt what is not finished; a run that this process works is stopped, and ends by itself."""
        runs = [run for run in tx.runs.of_session(session.session_id) if run.status in OPEN]
        return tuple(
            self.closing.close(tx, run, interruption(SESSION_ENDED), act)
            for run in runs
            if not self.parts.agent.is_working(run.run_id)
        )

    def _stop_own_runs(self, session_id: SessionId) -> None:
        with self.parts.store.snapshot() as snapshot:
            for run_id in self.parts.agent.working():
                run = self.parts.private_runs.find(run_id) or snapshot.runs.find(run_id)
                if run is not None and run.session_id == session_id:
                    self.parts.agent.stop(run_id, SESSION_ENDED)


def _session_id(session_id: SessionId) -> SessionId:
    return SessionId(askable(session_id, "session"))


def session_of(request: ops.NewSession, folder: WorkingFolder | None, caller: Caller) -> Session:
    if request.session_id is not None:
        Scope(ScopeKind.SESSION, request.session_id)
        without_secret("the session's id", request.session_id)
    projects = (*request.project_ids, *(() if folder is None else (folder.project,)))
    binding = bind(
        UNBOUND,
        persona_id=request.persona_id or caller.persona_id,
        project_ids=projects,
        capability_scope=UNBOUND.capability_scope,
    )
    return Session(
        session_id=request.session_id or SessionId("new"),
        title=_title(request.title),
        agent=clean_text("the agent", request.agent or "", limits.ID_CHARS_MAX) or None,
        private=request.private or (folder is not None and not folder.capture),
        working_folder=None if folder is None else folder.path,
        binding=binding,
        created_by=caller.actor,
        created_at=LONG_AGO,
        active_at=LONG_AGO,
    )


def _title(title: str) -> str:
    return clean_text("the title", title, limits.TITLE_CHARS_MAX)


def _apply_change(session: Session, change: ops.SessionChange, act: Act) -> Session:
    present = session.binding
    persona = present.persona_id if change.persona_id is ops.UNSET else change.persona_id
    given = change.capability_scope
    binding: Binding = bind(
        present,
        persona_id=persona,
        project_ids=present.project_ids if change.project_ids is None else change.project_ids,
        capability_scope=present.capability_scope if given is None else capability_scope_of(given),
    )
    ended_at, ended_by = session.ended_at, session.ended_by
    if change.ended is False:
        ended_at, ended_by = None, None
    elif change.ended and ended_at is None:
        ended_at, ended_by = act.at, act.actor
    return replace(
        session,
        title=session.title if change.title is None else _title(change.title),
        binding=binding,
        ended_at=ended_at,
        ended_by=ended_by,
    )


def _without_title(collections: Collections, session: Session, *, before: Session | None = None) -> Session:
    """A title is what an agent says of the conversation: where capture is off, none is taken."""
    if is_muted(collections, session):
        return replace(session, title="" if before is None else before.title)
    return session
