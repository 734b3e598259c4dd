"""Bringing in runs of other agents, as their transcripts tell them: sessions, journals, owed memories.

A run is stored once, whole and at its original times, or not at all: its row is what says that it is known,
also when it was forgotten since. Where people said no, nothing of it is stored.

A run that a hook has reported is there already, with its input and what its prompt was given: the transcript
completes it (INT-6).
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta

from runlore.domain import limits
from runlore.domain.access import Caller
from runlore.domain.errors import Invalid, Refused
from runlore.domain.lazy import dataclass
from runlore.domain.policies.policy import RunMemoryPolicy
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.prompts.run_memory import RunText
from runlore.domain.run import MOVE_TO, TERMINAL, MemoryState, Run, RunStatus, apply_run_move
from runlore.domain.runs.imported_entries import event_times
from runlore.domain.runs.journal import Entry, EventType, text_of
from runlore.domain.runs.journal_entry import status_entry
from runlore.domain.runs.transcript import KnownFolder, SkipReason, ToldRun
from runlore.domain.session import UNBOUND, Binding, PersonaId, Session, SessionId, bind
from runlore.domain.text.excerpt import excerpt
from runlore.domain.text.safe_text import is_storable, make_storable
from runlore.flow.capture.ending import end_run, interruption
from runlore.flow.capture.sessions import CAPTURE_PAUSED, is_muted, make_session
from runlore.flow.families import is_begun_by_forgotten
from runlore.ports.store import Transaction

# A hook reports an input as the agent takes it, and the transcript notes the same moment.
_SAME_MOMENT = timedelta(seconds=5)
NEVER_TOLD = "its transcript does not tell of it"


@dataclass(frozen=True, kw_only=True)
class ImportContext:
    """Who brings runs in, when, under which policy, and what is known of their folders and of the runs that
    hooks have reported of each session."""

    caller: Caller
    now: datetime
    policy: RunMemoryPolicy
    folders: Mapping[str, KnownFolder] = field(default_factory=dict)
    reported: dict[SessionId, list[Run]] = field(default_factory=dict)

    def folder(self, imported: ToldRun) -> KnownFolder:
        return folder_of(imported, self.folders)


def folder_of(imported: ToldRun, seen: Mapping[str, KnownFolder]) -> KnownFolder:
    """What is known of a run's folder: where its transcript was read they see it, here perhaps not. Whoever
    says no is heard."""
    folder = seen.get(imported.folder, KnownFolder())
    if not imported.project:
        return folder
    return KnownFolder(
        path=_path(imported.project_folder) or folder.path,
        project=_line(imported.project, limits.PATH_CHARS_MAX),
        project_name=_line(imported.project_name, limits.TITLE_CHARS_MAX),
        capture=folder.capture,
    )


# The entries of a run as the journal keeps them: made before anybody waits for them, where they are needed.
Entries = Callable[[], tuple[Entry, ...]]


@dataclass(frozen=True, kw_only=True)
class ImportedRun:
    """A run that is stored now: its first number, what was said in it, and how many events it has. Where a
    hook had reported it, `rest_number` is that of the first event behind its input."""

    run: Run
    text: RunText
    events: int
    is_new_session: bool
    rest_number: int | None = None

    @property
    def is_remembered(self) -> bool:
        """Whether its memory is owed: it is no older than memories are kept."""
        return self.run.memory is MemoryState.PENDING


def is_paused(tx: Transaction) -> bool:
    """Whether nothing at all is stored at present: then it is told again when capture has been resumed."""
    switch = tx.counters.switch(CAPTURE_PAUSED)
    return switch is not None and switch.on


def bring(
    tx: Transaction, imported: ToldRun, entries: Entries, bringing: ImportContext
) -> ImportedRun | SkipReason | None:
    """Store a run with its session, where it is not there yet; None where it is. The caller has the turns of
    the session and of the one that began it, and owes the memory where one is."""
    session = tx.sessions.find(imported.session_id)
    present = tx.runs.find(imported.run_id) or next(
        (run for run in _list_reported(tx, imported, bringing) if run.told_as == imported.run_id), None
    )
    if present is not None:
        # A run of this id is never written again: a forgotten one stays forgotten.
        if not present.imported or present.session_id != imported.session_id:
            return SkipReason.TAKEN
        return SkipReason.FORGOTTEN if present.memory is MemoryState.FORGOTTEN else None
    reported = _find_reported(tx, imported, entries, bringing)
    is_reported = reported is not None
    if no := _refusal(tx, session, imported, bringing, is_reported=is_reported):
        return no
    if is_begun_by_forgotten(tx, imported.parent_id):
        if session is None:
            # What it has begun itself is known by this, should that be told later.
            _note_parent(tx, imported)
        return SkipReason.FORGOTTEN
    if session is None or session.created_by == bringing.caller.actor:
        _note_parent(tx, imported)
    if reported is None:
        return _store_run(tx, imported, entries(), bringing)
    return _complete_run(tx, reported, imported, entries=entries(), bringing=bringing)


def _list_reported(tx: Transaction, imported: ToldRun, bringing: ImportContext) -> list[Run]:
    """The runs of this session that a hook has reported: those that are open, and those that were told."""
    if imported.session_id not in bringing.reported:
        runs = tx.runs.of_session(imported.session_id)
        bringing.reported[imported.session_id] = [run for run in runs if _is_reported(run)]
    return bringing.reported[imported.session_id]


def _find_reported(
    tx: Transaction, imported: ToldRun, entries: Entries, bringing: ImportContext
) -> Run | None:
    """The open run that a hook has reported and that is this one: it has the same input, or began at the same
    moment."""
    waiting = [run for run in _list_reported(tx, imported, bringing) if run.told_as is None]
    if not waiting:
        return None
    texts = tx.journal.inputs([run.run_id for run in waiting])
    text = " ".join(text_of(entries()[0].body).split())
    at = imported.events[0].at
    same = [run for run in waiting if " ".join(texts.get(run.run_id, "").split()) == text] or [
        run for run in waiting if at is not None and abs(run.opened_at - at) <= _SAME_MOMENT
    ]
    return same[0] if same else None


def _is_reported(run: Run) -> bool:
    is_waiting = not run.imported and run.executor is None and not run.is_terminal
    return run.told_as is not None or is_waiting


def _note_parent(tx: Transaction, imported: ToldRun) -> None:
    if imported.parent_id is not None:
        tx.sessions.put_parent(imported.session_id, imported.parent_id)


def _refusal(
    tx: Transaction, session: Session | None, imported: ToldRun, bringing: ImportContext, *, is_reported: bool
) -> SkipReason | None:
    """Why nothing of a run is stored where it works, or in a session that exists."""
    is_captured = bringing.folder(imported).capture
    if session is None or not is_captured:
        return None if is_captured else SkipReason.FOLDER
    if session.forgotten_at is not None:
        return SkipReason.FORGOTTEN
    if session.private:
        return SkipReason.PRIVATE
    if session.ended_at is not None:
        return SkipReason.ENDED
    if is_muted(tx, session):
        return SkipReason.PAUSED
    # Somebody may have made a session of this id for themselves, to read there what is brought in.
    is_ours = session.agent == imported.agent.value and session.created_by == bringing.caller.actor
    return None if is_ours or is_reported or _has_imported(tx, session.session_id) else SkipReason.TAKEN


def _has_imported(tx: Transaction, session_id: SessionId) -> bool:
    newest = tx.runs.page(limit=1, session_id=session_id)
    return bool(newest) and newest[0].imported


def _store_run(
    tx: Transaction, imported: ToldRun, entries: tuple[Entry, ...], bringing: ImportContext
) -> ImportedRun:
    is_new_session = tx.sessions.find(imported.session_id) is None
    newest = tx.runs.page(limit=1, session_id=imported.session_id)
    earliest = newest[0].finished_at if newest else None
    times = event_times(imported, earliest=earliest, latest=bringing.now, otherwise=earliest or bringing.now)
    if is_new_session:
        make_session(
            tx,
            build_imported_session(
                imported.session_id,
                bringing.folder(imported),
                agent=imported.agent.value,
                title=imported.title or text_of(entries[0].body),
                by=bringing.caller,
                at=times[0],
            ),
        )
    run = _end_run(imported, times, bringing)
    number = tx.journal.append(
        imported.session_id, run.run_id, [*entries, status_entry(run)], [*times, times[-1]]
    )
    run = replace(run, input_number=number)
    tx.runs.insert(run)
    tx.outcomes.put(run.run_id, bringing.now)
    return ImportedRun(run=run, text=_text(entries), events=len(entries) + 1, is_new_session=is_new_session)


def _complete_run(
    tx: Transaction, run: Run, imported: ToldRun, *, entries: tuple[Entry, ...], bringing: ImportContext
) -> ImportedRun:
    """Add what the transcript tells to a run that a hook has reported, and end it as the transcript says."""
    times = event_times(imported, earliest=run.opened_at, latest=bringing.now, otherwise=run.opened_at)
    model = _line(imported.model, limits.MODEL_CHARS_MAX) or run.model
    ended = _end(
        replace(run, imported=True, told_as=imported.run_id, model=model), imported, times[-1], bringing
    )
    rest = [*entries[1:], status_entry(ended)]
    number = tx.journal.append(run.session_id, run.run_id, rest, [*times[1:], times[-1]])
    tx.runs.update(ended, expected_revision=run.revision)
    runs = bringing.reported[imported.session_id]
    runs[runs.index(run)] = ended
    for waiting in [each for each in runs if each.told_as is None]:
        if waiting.opened_at < run.opened_at - _SAME_MOMENT:
            # A transcript is in order, so this one is told no more: its agent never took the input.
            end_run(tx, waiting, interruption(NEVER_TOLD), at=bringing.now, remember=False)
            runs.remove(waiting)
    return ImportedRun(
        run=ended, text=_text(entries), events=len(rest), is_new_session=False, rest_number=number
    )


def _end_run(imported: ToldRun, times: tuple[datetime, ...], bringing: ImportContext) -> Run:
    """The run as it ended. One that nobody ended was interrupted: its agent is gone."""
    opened = Run(
        run_id=imported.run_id,
        session_id=imported.session_id,
        status=RunStatus.RUNNING,
        agent=imported.agent.value,
        model=_line(imported.model, limits.MODEL_CHARS_MAX) or None,
        imported=True,
        input_number=0,
        created_by=bringing.caller.actor,
        opened_at=times[0],
        active_at=times[0],
    )
    return _end(opened, imported, times[-1], bringing)


def _end(run: Run, imported: ToldRun, at: datetime, bringing: ImportContext) -> Run:
    status = imported.status if imported.status in TERMINAL else RunStatus.INTERRUPTED
    ended = apply_run_move(run, MOVE_TO[status], at)
    assert ended.finished_at is not None, "a run that ended has its end"
    is_kept = bringing.policy.remembers(ended.finished_at, bringing.now)
    return replace(ended, memory=MemoryState.PENDING if is_kept else MemoryState.NONE)


def build_imported_session(
    session_id: SessionId, folder: KnownFolder, *, agent: str, title: str, by: Caller, at: datetime
) -> Session:
    """A session of another agent, as its transcript or its hooks tell it. Where its folder says no, nothing
    of it is stored."""
    return Session(
        session_id=session_id,
        title=_line(title, limits.TITLE_CHARS_MAX),
        agent=agent,
        private=not folder.capture,
        working_folder=None if folder.path is None else redact_text(make_storable(folder.path)).text,
        binding=binding_of_project(folder.project, by.persona_id),
        created_by=by.actor,
        created_at=at,
        active_at=at,
    )


def binding_of_project(project: str, persona_id: PersonaId | None) -> Binding:
    try:
        return bind(
            UNBOUND,
            persona_id=persona_id,
            project_ids=(project,) if project else (),
            capability_scope=UNBOUND.capability_scope,
        )
    except (Invalid, Refused):
        return replace(UNBOUND, persona_id=persona_id)


def _path(path: str) -> str | None:
    is_one = path.startswith("/") and len(path) <= limits.PATH_CHARS_MAX and is_storable(path)
    return path if is_one else None


def _text(entries: tuple[Entry, ...]) -> RunText:
    said = (text_of(entry.body) for entry in reversed(entries) if entry.type is EventType.ASSISTANT_MESSAGE)
    return RunText(request=text_of(entries[0].body), outcome=next(filter(None, said), ""))


def _line(text: str, chars_max: int) -> str:
    line = " ".join(make_storable(text[: chars_max * 4]).split())
    return excerpt(redact_text(strip_injected(line)).text, chars_max)
