"""What agents' hooks report: sessions and runs as they happen, and the context that an input gets.

A session has the id that its transcript gives it, and a run is opened with its input: reading the transcript
completes it (`flow/capture/importing.py`). It is done in the operator's name, as reading transcripts is: an
agent's token reports, and sees nothing of what is kept beyond the context of its own persona's sessions.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from runlore.agents.hooks.reports import HookedAgent, HookKind, HookReport, find_agent, read_report
from runlore.agents.transcripts.claude_code_lines import typed_words
from runlore.agents.transcripts.codex import is_harness
from runlore.daemon.agents_folder import read_persona
from runlore.daemon.calls.access import is_of_persona, keeps, not_found_session
from runlore.daemon.calls.idempotency import Call, Done, IdempotentCalls
from runlore.daemon.mining.source_reader import look_up_folder
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.operations.runs import RunActs
from runlore.daemon.runs.run_access import own_run_turn
from runlore.daemon.runs.run_opening import Founding, RunOpening
from runlore.domain import limits
from runlore.domain.access import LOCAL_OPERATOR, Caller, Role
from runlore.domain.errors import Conflict, Denied
from runlore.domain.prompts.projection import Section
from runlore.domain.record import JsonObject
from runlore.domain.records.audit import Act
from runlore.domain.run import OPEN, RunId, RunStatus
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.runs.transcript import TranscriptAgent, transcript_session_id
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.serialization.storable_json import make_json_storable
from runlore.domain.session import Session
from runlore.domain.text.safe_text import make_storable
from runlore.flow.capture.importing import build_imported_session
from runlore.flow.capture.runs import append_events
from runlore.flow.capture.sessions import find_binding, is_captured, make_session
from runlore.ports import operations as ops
from runlore.ports.store import Transaction


class HookActs(Bound):
    """Taking what hooks report."""

    @operation
    def report_hook(self, request: ops.HookEvent) -> ops.HookAnswer:
        agent = find_agent(request.agent)
        report = read_report(agent, request.event, request.payload)
        if report is None:
            return ops.HookAnswer()
        if self.caller.role is Role.AGENT and self.caller.persona_id is None:
            raise Denied(
                f"the token of {self.caller.actor} is bound to no persona, and hooks report for one",
                code="hook.persona",
                hint=f"`runlore connect {agent.name}` makes one that is",
            )
        self.parts.watch.note_report(agent.name)
        if agent.reader is not None and report.kind in (HookKind.STOP, HookKind.END):
            self._require_reader(agent, report)
            self.parts.watch.read_soon(agent.name, report.session, report.transcript)
            return ops.HookAnswer()
        if report.kind is HookKind.START and not self._is_told_at_start(agent, report):
            # Its first input makes the session, and gives it a title.
            return ops.HookAnswer()
        if report.kind is HookKind.PROMPT and not _own_words(agent, report.prompt):
            return ops.HookAnswer()
        context = self._take(agent, report, request)
        return ops.HookAnswer(output=agent.answer(request.event, context) if context else {})

    def _take(self, agent: HookedAgent, report: HookReport, request: ops.HookEvent) -> str:
        """Keep what is reported; the context that is answered."""
        session, founding = self._session_of(agent, report)
        if session.ended_at is not None:
            return ""
        if agent.reader is None and founding is None:
            self._journal(report, session, request)
        if report.kind is HookKind.PROMPT:
            given = self._open_run(agent, report, request, founding)
            return given if HookKind.PROMPT in agent.told_at else ""
        if report.kind is HookKind.START:
            if founding is not None:
                self._make_session(founding)
            asked_before = self._last_request(session) if report.is_compacted else ""
            about = report.prompt or asked_before or os.path.basename(report.folder) or agent.title
            asked = ops.PreviewRequest(session_id=session.session_id, text=make_storable(about))
            return _join(self._local.preview_input(asked).sections)
        return ""

    def _is_told_at_start(self, agent: HookedAgent, report: HookReport) -> bool:
        """Whether a session that starts is given anything. One that was shortened has lost what it was given,
        and may work on before its user says anything again."""
        if HookKind.START in agent.told_at or not report.is_compacted:
            return HookKind.START in agent.told_at
        with self.parts.store.snapshot() as snapshot:
            return snapshot.sessions.find(transcript_session_id(agent.name, report.session)) is not None

    def _last_request(self, session: Session) -> str:
        with self.parts.store.snapshot() as snapshot:
            found = [run.run_id for run in snapshot.runs.page(limit=1, session_id=session.session_id)]
            return "".join(snapshot.journal.inputs(found).values())

    @property
    def _local(self) -> ops.Operations:
        return self.parts.operations(self._local_caller)

    @property
    def _local_caller(self) -> Caller:
        return replace(LOCAL_OPERATOR, scopes=self.caller.scopes, persona_id=self.caller.persona_id)

    def _session_of(self, agent: HookedAgent, report: HookReport) -> tuple[Session, Founding | None]:
        """The session of a report, and what makes it where it is not there: its first run does."""
        session_id = transcript_session_id(agent.name, report.session)
        at = self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            present = snapshot.sessions.find(session_id)
            if present is not None:
                return self._require_own(present), None
            folder = look_up_folder(make_storable(report.folder), partial(find_binding, snapshot))
            wanted = build_imported_session(
                session_id, folder, agent=agent.name, title=report.prompt, by=self._local_caller, at=at
            )
            is_kept = keeps(snapshot, wanted)

        def write(tx: Transaction, _act: Act, _is_stored: bool) -> None:
            tx.lock({Scope(ScopeKind.SESSION, session_id)})
            present = tx.sessions.find(session_id)
            if present is None:
                make_session(tx, wanted if is_captured(tx, wanted) else replace(wanted, title=""))
            else:
                self._require_own(present)

        founding = Founding(session=wanted, asked_in=None, write=write)
        return (wanted, founding) if is_kept else (self._make_session(founding), None)

    def _make_session(self, founding: Founding) -> Session:
        """Make a session without a run: it is told something at its start, or nothing of it is kept."""
        with self.parts.store.transaction() as tx:
            founding.write(tx, Act(actor=self.caller.actor, at=founding.session.created_at), False)
            return tx.sessions.get(founding.session.session_id)

    def _require_reader(self, agent: HookedAgent, report: HookReport) -> None:
        """Transcripts are read in the name of this state root's user, so nobody else may ask for it."""
        with self.parts.store.snapshot() as snapshot:
            present = snapshot.sessions.find(transcript_session_id(agent.name, report.session))
        if present is not None:
            self._require_own(present)
        if self.caller.role is Role.OPERATOR or self.caller.persona_id == read_persona(self.parts.state_root):
            return
        raise Denied(
            f"the token of {self.caller.actor} is not of the persona whose transcripts are read here",
            code="hook.persona",
            hint=f"`runlore connect {agent.name}` on this machine makes one that is",
        )

    def _require_own(self, session: Session) -> Session:
        """A session that is the caller's persona's; to everybody else it does not exist."""
        is_own = is_of_persona(self.caller, session, is_alone=self.parts.is_alone)
        if is_own or self.caller.role is Role.OPERATOR:
            return session
        raise not_found_session(session.session_id)

    def _open_run(
        self, agent: HookedAgent, report: HookReport, request: ops.HookEvent, founding: Founding | None
    ) -> str:
        new = ops.NewRun(
            session_id=transcript_session_id(agent.name, report.session),
            request=make_storable(report.prompt),
            agent=agent.name,
            model=make_storable(report.model)[: limits.MODEL_CHARS_MAX] or None,
            context=True,
            idempotency_key=request.idempotency_key,
        )
        call = Call(operation="report_hook", request=new, key=new.idempotency_key)
        # The agent has the conversation: earlier runs of it would only be told twice.
        opening = RunOpening(parts=self.parts, caller=self._local_caller, founding=founding, recovers=False)
        view = opening.open(new, call).view
        return _join(view.sections or ())

    def _journal(self, report: HookReport, session: Session, request: ops.HookEvent) -> None:
        """Keep what an agent without a transcript reports of its open run, each report once."""
        run_id = self._open_run_of(session)
        if run_id is None:
            return
        entries = tuple(map(parse_entry, _events(report, request.idempotency_key or run_id)))
        if entries:
            acting = IdempotentCalls(
                store=self.parts.store, clock=self.parts.clock, caller=self._local_caller
            )

            def do(tx: Transaction, act: Act) -> Done[None]:
                run, session = own_run_turn(tx, self._local_caller, run_id)
                if is_captured(tx, session):
                    append_events(tx, run, entries, first_number=None, at=act.at)
                return Done(None, name=run_id)

            call = Call(operation="report_hook", request=request, key=request.idempotency_key)
            acting.perform(call, do, lambda _kept: None)
        if report.kind in (HookKind.STOP, HookKind.END, HookKind.PROMPT):
            with suppress(Conflict):
                RunActs(self.parts, self._local_caller).end_run(
                    ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED)
                )

    def _open_run_of(self, session: Session) -> RunId | None:
        with self.parts.store.snapshot() as snapshot:
            found = snapshot.runs.page(limit=1, session_id=session.session_id, statuses=OPEN)
        return found[0].run_id if found else None


def _own_words(agent: HookedAgent, prompt: str) -> str:
    """What the user said, of what an agent reports as a prompt: some report so what their harness says, such
    as that a task in the background has ended."""
    if agent.reader is TranscriptAgent.CLAUDE_CODE:
        return typed_words(prompt)
    is_of_harness = agent.reader is TranscriptAgent.CODEX and is_harness(prompt, is_surely_said=True)
    return "" if is_of_harness else prompt.strip()


def _events(report: HookReport, name: str) -> Iterator[JsonObject]:
    """What a report says of the run that is open."""
    if report.kind is HookKind.TOOL:
        call_id = name[-limits.CHAT_CALL_ID_CHARS_MAX :]
        yield {
            "type": "tool_call",
            "call_id": call_id,
            "name": make_storable(report.tool) or "tool",
            "arguments": make_json_storable(report.arguments or {}),
        }
        output = make_storable(report.output)
        yield {"type": "tool_result", "call_id": call_id, "output": output, "is_error": report.is_error}
    elif report.text and report.kind in (HookKind.SAID, HookKind.STOP, HookKind.END):
        yield {"type": "assistant_message", "text": make_storable(report.text)}


def _join(sections: Iterable[Section]) -> str:
    return "\n\n".join(section.text for section in sections)
