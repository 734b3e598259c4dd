"""Errors on the command line: a sentence and a hint for people, the problem document for `--json`."""

import os
import shutil
import sys
import textwrap
import traceback

import orjson
import typer

from runlore.cli.terminal import has_edge, visible
from runlore.domain.errors import (
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    Refused,
    RunloreError,
    Unavailable,
)

_TEXT_COLUMNS_MIN = 32
_RED, _YELLOW = "\x1b[1;31m", "\x1b[33m"
# The most particular class comes first; each with its exit code.
EXIT_CODES: tuple[tuple[type[RunloreError], int], ...] = (
    (Invalid, 2),
    (Refused, 2),
    (Unavailable, 3),
    (Denied, 4),
    (NotFound, 5),
    (Conflict, 6),
    (Corrupt, 1),
    (RunloreError, 1),
)


def report(error: RunloreError, *, as_json: bool) -> int:
    """Say what went wrong on stderr, and answer the exit code."""
    code = next(exit_code for kind, exit_code in EXIT_CODES if isinstance(error, kind))
    from runlore.api.errors import status_code_of
    from runlore.daemon.answers import problem

    document = problem(_storable(error), status_code_of(error))
    if as_json:
        sys.stderr.flush()
        sys.stderr.buffer.write(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    else:
        sys.stderr.write(_lines("error: ", f"{visible(str(document['detail']))} [{error.code}]", _RED))
        if error.hint:
            sys.stderr.write(_lines("hint: ", visible(str(document["hint"])), _YELLOW))
    return code


def _lines(label: str, text: str, colour: str) -> str:
    """A labelled text, its label in colour where a terminal shows any. Where lines have an edge it goes on
    between words, below where it began; no word is broken."""
    is_coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    shown = f"{colour}{label}\x1b[0m" if is_coloured else label
    if not has_edge(sys.stderr):
        return f"{shown}{text}\n"
    lines = textwrap.wrap(
        text,
        max(shutil.get_terminal_size().columns - len(label), _TEXT_COLUMNS_MIN),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return shown + f"\n{' ' * len(label)}".join(lines) + "\n"


def report_usage(error: typer.TyperException, *, as_json: bool) -> int:
    text = error.format_message()
    if text.startswith("Usage: "):
        # A group without a command: typer's message is the help itself.
        sys.stderr.write(f"{text}\n")
        return 2
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "runlore"
    sentence = text[:1].lower() + text[1:].removesuffix(".")
    hint = f"`{path} --help` shows what it takes"
    if sentence.startswith("missing argument") and (help_text := getattr(error.param, "help", "")):  # type: ignore[attr-defined]
        hint = f"{help_text[:1].lower()}{help_text[1:].removesuffix('.')}; {hint}"
    return report(Invalid(sentence, code="usage", hint=hint), as_json=as_json)


def report_failure(error: Exception, *, as_json: bool) -> int:
    """An error that nobody foresaw is a mistake in Runlore: say so, and show where."""
    unforeseen = RunloreError(
        f"Runlore itself failed: {type(error).__name__}: {error}",
        code="internal",
        hint="this is a mistake in Runlore; please report it, with what you called and what stands below",
    )
    code = report(unforeseen, as_json=as_json)
    if not as_json:
        traceback.print_exception(error)
    return code


def _storable(error: RunloreError) -> RunloreError:
    """The error with bytes of the command line that are no text, such as \\xff, written as their codes."""
    sentence, hint = (
        text.encode(errors="backslashreplace").decode() for text in (error.sentence, error.hint)
    )
    return type(error)(sentence, code=error.code, hint=hint)
