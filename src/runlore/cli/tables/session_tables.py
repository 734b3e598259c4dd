"""What people see of sessions, personas, runs and journals."""

import sys

import orjson

from runlore.cli.tables.table_cells import plural, show_fields, show_page, time_text
from runlore.cli.terminal import Cell, Column, say, write_spoken
from runlore.daemon import answers
from runlore.domain.project import project_name
from runlore.domain.record import JsonValue
from runlore.domain.run import Artifact, RunStatus
from runlore.domain.runs.journal import EventType, JournalEvent, text_of
from runlore.domain.session import Persona, Session
from runlore.domain.text.excerpt import excerpt
from runlore.domain.worth.outcome import POINTS_MAX, RunOutcome
from runlore.ports import operations as ops

# More of an event than this hides the others; `--json` has all of it.
EVENT_CHARS_MAX = 400
_TITLE_CHARS_MAX = 60
_ON = {True: "on", False: "off"}
_FOR_PROGRAMS = frozenset({"next_number", "project_ids", "revision", "stored"})
_SESSION_TEXTS = (("PROJECT", 12), ("TITLE", 16))
_STATUS_STYLES = {
    RunStatus.COMPLETED: "green",
    RunStatus.FAILED: "red",
    RunStatus.INTERRUPTED: "yellow",
    RunStatus.CANCELLED: "dim",
}


def show_sessions(page: ops.SessionPage) -> None:
    texts = [Column(title=title, wraps=True, columns_min=least) for title, least in _SESSION_TEXTS]
    show_page(
        page,
        "There are no sessions.",
        ["ID", "STATE", "LAST ACTIVE", *texts],
        lambda s: (s.session_id, _standing(s), time_text(s.active_at), _projects(s), _short_title(s)),
        then="Sessions, the latest first. `runlore session runs @1` shows the first.",
        has_places=True,
    )


def _short_title(session: Session) -> str:
    """At a terminal as much as three lines hold: a first request may be a page."""
    return excerpt(session.title, _TITLE_CHARS_MAX) if sys.stdout.isatty() else session.title


def show_session(session: Session) -> None:
    """All of a session; at a terminal in the words of people, and without what only programs go by."""
    plain = answers.write(session)
    if not sys.stdout.isatty():
        show_fields(plain)
        return
    told = {name: value for name, value in plain.items() if name not in _FOR_PROGRAMS}
    seen = {"created_at": time_text(session.created_at), "active_at": time_text(session.active_at)}
    show_fields({**told, **seen, "project": _projects(session)})
    say("`runlore session runs last` shows its runs, --json every field.", "dim")


def tell_session(deed: str, session: Session) -> None:
    title = f": {session.title}" if session.title else ""
    bound = f" (bound to {_bound_to(session)})" if _bound_to(session) else ""
    say(f"{deed} session {session.session_id}{title}{bound}")
    if session.private:
        say("It is private: nothing of it is stored.", "dim")


def show_personas(page: ops.PersonaPage) -> None:
    show_page(
        page,
        "There are no personas.",
        ["ID", "REV", "CHANGED", "CAPTURE", Column(title="NAME", wraps=True, columns_min=16)],
        lambda p: (p.persona_id, str(p.revision), time_text(p.updated_at), _ON[p.capture], p.name),
        then="Personas, the latest changed first. `runlore session persona show ID` shows one.",
    )


def show_persona(persona: Persona) -> None:
    show_fields(answers.write(persona))


def show_runs(page: ops.RunPage) -> None:
    # Ids are long: at a terminal a run is told by what was asked.
    of_one = len({view.run.session_id for view in page.items}) == 1 or sys.stdout.isatty()
    titles = ("RUN", "STATUS", "OPENED") if of_one else ("RUN", "SESSION", "STATUS", "OPENED")
    show_page(
        page,
        "There are no runs.",
        [*titles, Column(title="REQUEST", wraps=True, columns_min=20)],
        lambda view: (
            view.run.run_id,
            *(() if of_one else (view.run.session_id,)),
            (view.run.status, _STATUS_STYLES.get(view.run.status, "")),
            time_text(view.run.opened_at),
            excerpt(view.request, EVENT_CHARS_MAX) or "(erased)",
        ),
        then="Runs, the newest first. `runlore why @1` shows what the first was given.",
        has_places=True,
    )


def show_run(view: ops.RunView) -> None:
    plain = answers.write(view)
    show_fields({**plain, "outcome": _outcome_text(view.outcome)})


def _outcome_text(outcome: RunOutcome | None) -> str:
    """How a run counts and why, in a line."""
    if outcome is None:
        return "known a day after it has ended"
    if outcome.said is not None:
        return f"{outcome.said}, as somebody said"
    why = ", ".join(f"{name} {-cost:+}" for name, cost in outcome.signs.items())
    return f"{outcome.points} of {POINTS_MAX} points{f': {why}' if why else ''}"


def show_artifacts(page: ops.ArtifactPage) -> None:
    show_page(
        page,
        "The run left no artifacts.",
        ["ID", "MADE", "SIZE", Column(title="NAME", wraps=True, columns_min=16)],
        lambda a: (a.artifact_id, time_text(a.created_at), plural(_size(a), "byte"), a.name),
        then="Artifacts of a run. `runlore session run artifact RUN ID` prints one.",
    )


def _size(artifact: Artifact) -> int:
    return len(artifact.text.encode()) if artifact.whole_bytes is None else artifact.whole_bytes


def show_artifact(artifact: Artifact) -> None:
    """One artifact: its text, and nothing else. A diff can be applied as it comes."""
    write_spoken(artifact.text)


def show_journal(page: ops.JournalPage) -> None:
    show_page(
        page,
        "There are no events.",
        ["NUMBER", "AT", "TYPE", "RUN", Column(title="WHAT", wraps=True, lines=True, columns_min=20)],
        lambda event: (
            *(str(event.number), time_text(event.at), event.type, event.run_id or "-"),
            excerpt(_what(event), EVENT_CHARS_MAX),
        ),
    )


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
    folder = session.working_folder or ""
    return ", ".join(filter(None, (project_name(each, folder) for each in session.binding.project_ids)))
