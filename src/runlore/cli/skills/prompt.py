"""The question at the terminal, one suggestion after the other: keep it as a skill, not now, or skip it.

The store is free while a person reads: each answer is carried out by itself, so that what was decided before
somebody stops stays decided.
"""

import signal
import sys
from collections.abc import Callable
from enum import StrEnum

import typer

from runlore.cli.tables.library_tables import seen_text
from runlore.cli.tables.table_cells import plural
from runlore.cli.terminal import Column, say, show_table
from runlore.domain.lazy import dataclass
from runlore.domain.suggestion import StoredSuggestion

ASKED = "   Save as skill? [Y/n/s=skip always]: "
# What came from outside is saved by a word alone, never by Enter: then whoever says it has read the text.
ASKED_OUTSIDE = "   It comes from outside. Have you read it? Save as skill? [y/N/s=skip always]: "
PREVIEW_LINES_MAX = 40
SOURCES_SHOWN = 3
# What a shell says of a command that was stopped from the keyboard.
STOPPED = 128 + signal.SIGINT


class Choice(StrEnum):
    """What can be answered."""

    SAVE = "y"
    NOT_NOW = "n"
    SKIP = "s"
    STOP = "q"


_WORDS = {
    **dict.fromkeys(("y", "yes"), Choice.SAVE),
    **dict.fromkeys(("n", "no"), Choice.NOT_NOW),
    **dict.fromkeys(("s", "skip"), Choice.SKIP),
    **dict.fromkeys(("q", "quit"), Choice.STOP),
}


@dataclass
class DecisionCounts:
    """What was decided so far."""

    saved: int = 0
    skipped: int = 0
    left: int = 0


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask_about(
    waiting: tuple[StoredSuggestion, ...],
    save: Callable[[StoredSuggestion], None],
    skip: Callable[[StoredSuggestion], None],
    *,
    skip_lasts: str,
) -> DecisionCounts:
    """Ask about each. `q`, the end of the input and Ctrl-C end it; what was not answered waits as before.

    The question itself is fixed and says "skip always"; `skip_lasts` above it says how long that is.
    """
    tally = DecisionCounts(left=len(waiting))
    for number, stored in enumerate(waiting, start=1):
        show_preview(stored, place=f"{number:,} of {len(waiting):,}" if len(waiting) > 1 else "")
        say(f"   s skips it {skip_lasts}, n leaves it for now, q stops.", "dim")
        try:
            choice = _read_choice(stored)
        except KeyboardInterrupt:
            _show_end(tally, stopped=True)
            raise typer.Exit(STOPPED) from None
        if choice is None or choice == Choice.STOP:
            break
        if choice == Choice.SAVE:
            save(stored)
            tally.saved += 1
        elif choice == Choice.SKIP:
            skip(stored)
            tally.skipped += 1
        tally.left -= choice != Choice.NOT_NOW
    _show_end(tally, stopped=False)
    return tally


def show_preview(stored: StoredSuggestion, *, place: str = "") -> None:
    say("")
    say(f"Skill suggestion{f' {place}' if place else ''}: {stored.suggestion.name}", "bold")
    show_suggestion(stored)


def show_suggestion(stored: StoredSuggestion) -> None:
    """How often it was seen, where it comes from, and its text."""
    suggestion = stored.suggestion
    say(f"   seen {seen_text(suggestion)}", "dim")
    # What stands in its text is not said twice.
    if suggestion.description not in suggestion.body:
        _show_text(suggestion.description)
    for command in suggestion.commands:
        if command not in suggestion.body:
            say(f"     • {command}", is_code=True)
    is_outside = suggestion.provenance.tainted
    if is_outside:
        sources = suggestion.provenance.sources
        more = len(sources) - SOURCES_SHOWN
        rest = f" and {more:,} more: `runlore skill suggestions show {suggestion.name}`" if more > 0 else ""
        say(f"   From outside: {', '.join(sources[:SOURCES_SHOWN])}{rest}", "red")
    say("")
    lines = suggestion.body.splitlines()
    shown = lines if is_outside else lines[:PREVIEW_LINES_MAX]
    for line in shown:
        _show_text(line)
    more = len(lines) - len(shown)
    if more:
        say(f"   {plural(more, 'more line')}: runlore skill suggestions show {suggestion.name}", "dim")
    say("")


def _show_text(text: str) -> None:
    show_table((Column(wraps=True),), [(text,)], indent=3)


def _read_choice(stored: StoredSuggestion) -> Choice | None:
    is_outside = stored.suggestion.provenance.tainted
    while True:
        sys.stdout.write(ASKED_OUTSIDE if is_outside else ASKED)
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            say("")
            return None
        word = line.strip().lower()
        if not word:
            return Choice.NOT_NOW if is_outside else Choice.SAVE
        if word in _WORDS:
            return _WORDS[word]
        say("   Answer y to save it, n to leave it for now, s to skip it, q to stop.", "yellow")


def _show_end(tally: DecisionCounts, *, stopped: bool) -> None:
    say("")
    still = f"{tally.left:,} still wait{'s' if tally.left == 1 else ''}"
    say(f"{'Stopped: ' if stopped else ''}{tally.saved:,} saved, {tally.skipped:,} skipped, {still}.")
