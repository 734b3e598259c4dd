"""What people see of suggested skills: what each is, how often it was seen, and why it scores so."""

from collections.abc import Iterator

from runlore.cli.tables.table_cells import plural, show_cursor, time_text
from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.domain.suggestion import StoredSuggestion, Suggestion, SuggestionEvidence, SuggestionState
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

DESCRIPTION_CHARS_MAX = 300
_FIELDS = (Column(), Column(wraps=True, lines=True))
_STYLES = {SuggestionState.WAITING: "yellow", SuggestionState.SAVED: "green", SuggestionState.SKIPPED: "dim"}


def show_suggestions(page: ops.SuggestionPage) -> None:
    if not page.items:
        say("No suggestions match. `runlore learn` looks for skills in transcripts.", "dim")
        return
    show_table(
        [
            Column(title="NAME"),
            Column(title="SCORE", labelled=True, right=True),
            Column(title="SEEN"),
            Column(title="DETECTOR"),
            Column(title="STATE"),
            Column(title="DESCRIPTION", wraps=True),
        ],
        [
            (
                stored.suggestion.name,
                str(stored.suggestion.score.points),
                _seen_text(stored.suggestion),
                stored.suggestion.heuristic.value,
                _state(stored),
                excerpt(stored.suggestion.description, DESCRIPTION_CHARS_MAX),
            )
            for stored in page.items
        ],
    )
    show_cursor(page.next_cursor)


def show_suggestion(stored: StoredSuggestion) -> None:
    say(f"{stored.suggestion.name}  {stored.suggestion_id}", "bold")
    rows: list[tuple[Cell, Cell]] = [
        (("state", "bold"), _state(stored)),
        *(((name, "bold"), text) for name, text in _suggestion_rows(stored.suggestion) if text),
        *(((name, "bold"), text) for name, text in _queue_rows(stored) if text),
    ]
    show_table(_FIELDS, rows, indent=2)


def show_move(deed: str, stored: StoredSuggestion) -> None:
    say(f"{deed} {stored.suggestion.name}  {stored.suggestion_id}")


def show_reset(stored: StoredSuggestion) -> None:
    show_move("Waiting again:" if stored.waits else "Saved, and not skipped any more:", stored)


def _seen_text(suggestion: Suggestion) -> str:
    return f"{plural(suggestion.times, 'time')} in {plural(suggestion.sessions, 'session')}"


def _state(stored: StoredSuggestion) -> Cell:
    if stored.suggestion.provenance.tainted:
        return f"{stored.state.value}, from outside", "red"
    return stored.state.value, _STYLES[stored.state]


def _suggestion_rows(suggestion: Suggestion) -> Iterator[tuple[str, str]]:
    yield "description", suggestion.description
    yield "detector", suggestion.heuristic.value
    yield "seen", _seen_text(suggestion)
    yield "about", suggestion.trigger.topic
    yield "actions", ", ".join(suggestion.trigger.actions)
    for command in suggestion.commands:
        yield "command", command
    for parameter in suggestion.parameters:
        yield "parameter", f"<{parameter.name}>, such as {', '.join(parameter.examples)}"
    yield "score", str(suggestion.score.points)
    for part in suggestion.score.parts:
        yield "because", f"{part.points:+d}  {part.reason}"
    for source in suggestion.provenance.sources:
        yield "from outside", source
    for evidence in suggestion.evidence:
        yield "evidence", _evidence(evidence)
    yield "improved by", suggestion.enhanced_by
    yield "skill", suggestion.body


def _queue_rows(stored: StoredSuggestion) -> Iterator[tuple[str, str]]:
    yield "decided by", stored.state_actor
    yield "created", time_text(stored.created_at)
    yield "updated", time_text(stored.updated_at)
    yield "revision", str(stored.revision)


def _evidence(evidence: SuggestionEvidence) -> str:
    numbers = ", ".join(map(str, evidence.event_numbers))
    name = evidence.known_as
    project = f" in {name}" if name else ""
    return f"{time_text(evidence.at)}  run {evidence.run_id}, events {numbers}{project}"
