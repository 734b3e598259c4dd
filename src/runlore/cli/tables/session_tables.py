"""What people see of sessions, personas, runs and journals."""

import orjson

from runlore.cli.tables.table_cells import end_list, plural, show_fields, time_text
from runlore.cli.terminal import Cell, Column, say, show_table, write_spoken
from runlore.daemon import answers
from runlore.domain.project import project_name
from runlore.domain.record import JsonValue
from runlore.domain.run import Artifact, RunStatus
from runlore.domain.runs.journal import EventType, JournalEvent, text_of
from runlore.domain.session import Persona, Session
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

# More of an event than this hides the others; `--json` has all of it.
EVENT_CHARS_MAX = 400
_STATUS_STYLES = {
    RunStatus.COMPLETED: "green",
    RunStatus.FAILED: "red",
    RunStatus.INTERRUPTED: "yellow",
    RunStatus.CANCELLED: "dim",
}


def show_sessions(page: ops.SessionPage) -> None:
    if not page.items:
        say("There are no sessions.", "dim")
        return
    show_table(
        [
            *("ID", "STATE", "LAST ACTIVE"),
            Column(title="PROJECT", wraps=True, columns_min=12),
            Column(title="TITLE", wraps=True, columns_min=16),
        ],
        [(s.session_id, _standing(s), time_text(s.active_at), _projects(s), s.title) for s in page.items],
    )
    end_list(
        page.next_cursor,
        "Sessions, the latest first. `runlore session runs @1` shows the first.",
    )


def show_session(session: Session) -> None:
    show_fields(answers.write(session))


def tell_session(deed: str, session: Session) -> None:
    title = f": {session.title}" if session.title else ""
    bound = f" (bound to {_bound_to(session)})" if _bound_to(session) else ""
    say(f"{deed} session {session.session_id}{title}{bound}")
    if session.private:
        say("It is private: nothing of it is stored.", "dim")


def show_personas(page: ops.PersonaPage) -> None:
    if not page.items:
        say("There are no personas.", "dim")
        return
    show_table(
        ["ID", "REV", "CHANGED", "CAPTURE", Column(title="NAME", wraps=True, columns_min=16)],
        [
            (p.persona_id, str(p.revision), time_text(p.updated_at), "on" if p.capture else "off", p.name)
            for p in page.items
        ],
    )
    end_list(
        page.next_cursor, "Personas, the latest changed first. `runlore session persona show ID` shows one."
    )


def show_persona(persona: Persona) -> None:
    show_fields(answers.write(persona))


def show_runs(page: ops.RunPage) -> None:
    if not page.items:
        say("There are no runs.", "dim")
        return
    of_one = len({view.run.session_id for view in page.items}) == 1
    titles = ("RUN", "STATUS", "OPENED") if of_one else ("RUN", "SESSION", "STATUS", "OPENED")
    show_table(
        [*(Column(title=title) for title in titles), Column(title="REQUEST", wraps=True, columns_min=20)],
        [
            (
                view.run.run_id,
                *(() if of_one else (view.run.session_id,)),
                (view.run.status, _STATUS_STYLES.get(view.run.status, "")),
                time_text(view.run.opened_at),
                excerpt(view.request, EVENT_CHARS_MAX) or "(erased)",
            )
            for view in page.items
        ],
    )
    end_list(
        page.next_cursor,
        "Runs, the newest first. `runlore why @1` shows what the first was given.",
    )


def show_run(view: ops.RunView) -> None:
    show_fields(answers.write(view))


def show_artifacts(page: ops.ArtifactPage) -> None:
    if not page.items:
        say("The run left no artifacts.", "dim")
        return
    show_table(
        ["ID", "MADE", "SIZE", Column(title="NAME", wraps=True, columns_min=16)],
        [(a.artifact_id, time_text(a.created_at), plural(_size(a), "byte"), a.name) for a in page.items],
    )
    end_list(page.next_cursor, "Artifacts of a run. `runlore session run artifact RUN ID` prints one.")


def _size(artifact: Artifact) -> int:
    return len(artifact.text.encode()) if artifact.whole_bytes is None else artifact.whole_bytes


def show_artifact(artifact: Artifact) -> None:
    """One artifact: its text, and nothing else. A diff can be applied as it comes."""
    write_spoken(artifact.text)


def show_journal(page: ops.JournalPage) -> None:
    if not page.items:
        say("There are no events.", "dim")
        return
    show_table(
        ["NUMBER", "AT", "TYPE", "RUN", Column(title="WHAT", wraps=True, lines=True, columns_min=20)],
        [
            (
                str(event.number),
                time_text(event.at),
                event.type,
                event.run_id or "-",
                excerpt(_what(event), EVENT_CHARS_MAX),
            )
            for event in page.items
        ],
    )
    end_list(page.next_cursor)


def _what(event: JournalEvent) -> str:
    if not event.body:
        return "(erased)"
    if text := text_of(event.body):
        return text
    if event.type is EventType.TOOL_RESULT and event.body.get("output"):
        code = event.body.get("exit_code")
        return _text(event.body["output"]) + ("" if code is None else f"\n(exit code {code})")
    return ", ".join(f"{name}: {_text(value)}" for name, value in event.body.items() if value is not None)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _standing(session: Session) -> Cell:
    if session.forgotten_at is not None:
        return "forgotten", "red dim"
    if session.ended_at is not None:
        return "ended", "dim"
    return ("private", "yellow") if session.private else ("open", "green")


def _bound_to(session: Session) -> str:
    persona = session.binding.persona_id
    projects = [f"project:{project}" for project in session.binding.project_ids]
    return ", ".join([*([f"persona:{persona}"] if persona else []), *projects])


def _projects(session: Session) -> str:
    """What people call the projects of a session."""
    folder = session.working_folder or ""
    return ", ".join(filter(None, (project_name(each, folder) for each in session.binding.project_ids)))
