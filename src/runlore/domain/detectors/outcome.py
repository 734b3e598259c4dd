"""What became of a shell call (SKL-3): by exit code, by the tool's error flag, by text as the last resort.

A refusal by the user, a call that the harness would not make, and an interruption say nothing about the
command: they are neither success nor failure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, pairwise

from runlore.domain import limits
from runlore.domain.detectors.mined import Outcome
from runlore.domain.detectors.outcome_texts import (
    FAILURES,
    LINE_OF_FAILURE,
    MORE_SIGNS,
    REFUSALS,
    SHORT_SIGNS,
    SIGNS,
    TELLING,
    UNFINISHED,
    TextRow,
)
from runlore.domain.detectors.recovery_texts import is_about_command
from runlore.domain.guard.patterns import BytesMatch, Pattern, compile_pattern
from runlore.domain.lazy import dataclass
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.text.safe_text import make_storable

# How much of an output is looked at for failures: its beginning and its end.
READ_CHARS_MAX = 6_000
# A refusal stands at the beginning.
BEGINNING_CHARS = 240
REFUSAL_CHARS_MAX = 1_000
OUTPUT_DEPTH_MAX = 4
PARTS_MAX = 64
# Ended by Ctrl-C, by `timeout` or by `kill`: how it would have ended is not known.
ENDED = frozenset({124, 130, 137, 143})

_ALL_SIGNS = (*SIGNS, *MORE_SIGNS, *SHORT_SIGNS)
_HARMLESS = rb"(?i)\b(?:0|no|zero) (?:errors?|failures?|failed)\b"
_EMPTY = (
    rb"(?i)^(?:(?:error: )?exit(?:ed)?(?: with)?(?: code| status)?[:= ]{1,3}\d{1,3}"
    rb"|process exited with code \d+|(?:wall time|chunk id|original token count|session id)\b.{0,80}|output:"
    rb"|traceback \(most.{0,40}|fail|\x1b\[\d+m|[\W_]{1,40}|hint:.{0,200}"
    rb"|(?:\[[\w:./-]{1,60}\] )?\* \w+: \d+)$"
)
# What a program says to do about its error: in a line with it, or in the line above it.
_ADVICE = re.compile(
    r"\b(?:run|use|using|try|pass|passing|consider|add|with)\b.{0,40}(?:[`'\"][a-z.]|(?<!\w)--?[a-z])"
    r"|did you mean",
    re.IGNORECASE,
)
_ANNOUNCING = re.compile(r"\b(?:use|run|try|instead|command|candidates?)\b[^.]{0,40}:?$|:$", re.IGNORECASE)
_COMMAND = re.compile(r"[a-z./][\w./-]* [\w-]")
_LINES_MAX = 12
ERROR_LINES_MAX, LINE_CHARS_MAX = 3, 300
# How Codex tells what its sandbox did not let a command do: the outcome as a value of its own language.
_CONFINED = re.compile(r"exec_command failed for [\s\S]{1,4000}?ExecToolCallOutput \{ exit_code: (\d{1,3})")
_STREAMS = re.compile(
    r",? \w+: StreamOutput \{ text: \\*\"|\\*\", truncated_after_lines: \w+|\\+n| \}, duration: .*"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What became of a call, with its exit code, the line that tells best why it failed, and more of them."""

    outcome: Outcome
    exit_code: int | None = None
    error: str = ""
    more: str = ""


_NOTHING = Judgement(outcome=Outcome.UNKNOWN)
_REFUSED = Judgement(outcome=Outcome.REFUSED)
_SUCCEEDED = Judgement(outcome=Outcome.SUCCEEDED)
_SUCCEEDED_CODE = Judgement(outcome=Outcome.SUCCEEDED, exit_code=0)


def judge_results(
    results: Sequence[JsonObject], *, is_asking: bool = False, is_masked: bool = False
) -> Judgement:
    """What the results of one call say. Of several the last one with an exit code counts.

    `is_asking` says that the exit code answers a question (`grep`, `diff`, `test`): 1 is then no failure, and
    the output is what was asked for. `is_masked` says that a success is that of another command: `make |
    tail`, `make || true`.
    """
    if not results:
        return _NOTHING
    body = next((each for each in reversed(results) if _exit_code(each) is not None), results[-1])
    code = _exit_code(body)
    if code == 0 and not is_masked:
        return _SUCCEEDED_CODE
    text = make_storable(output_text(body.get("output")))
    if code is None and (confined := _CONFINED.match(text)):
        code, text = int(confined[1]), "\n".join(_STREAMS.split(text[confined.end() :]))
    if code:
        return _unmade(text, code) or _judge_failure(code, text, is_asking=is_asking)
    if code is None and (judged := _by_flag(body.get("is_error"), text, is_masked=is_masked)):
        return judged
    if not is_asking and failing_line(text):
        return _fail(text, code)
    return _SUCCEEDED if code is None else _SUCCEEDED_CODE


def _fail(text: str, code: int | None = None) -> Judgement:
    error, *more = error_lines(text) or [""]
    return Judgement(outcome=Outcome.FAILED, exit_code=code, error=error, more="\n".join(more))


def _by_flag(flag: JsonValue, text: str, *, is_masked: bool) -> Judgement | None:
    """What the tool's own flag says; None where only the text is left."""
    # Where no flag is set, only a short text can be a refusal: it says nothing besides.
    unmade = _unmade(text, None) if flag is True or len(text) <= REFUSAL_CHARS_MAX else None
    # A call that went well was not refused, whatever it has printed; but it may still run.
    if unmade and (flag is not False or unmade.outcome is Outcome.UNKNOWN):
        return unmade
    if flag is True:
        return _fail(text)
    return _SUCCEEDED if flag is False and not is_masked else None


def _unmade(text: str, code: int | None) -> Judgement | None:
    """A call that was not made, or not to its end."""
    beginning = text[:BEGINNING_CHARS].strip().lower().encode(errors="replace")
    if _any_of(REFUSALS).search(beginning):
        return _REFUSED
    if code in ENDED or _any_of(UNFINISHED).search(beginning):
        return Judgement(outcome=Outcome.UNKNOWN, exit_code=code)
    return None


def _judge_failure(code: int, text: str, *, is_asking: bool) -> Judgement:
    if code == 1 and is_asking and not failing_line(text):
        return Judgement(outcome=Outcome.UNKNOWN, exit_code=code)
    return _fail(text, code)


def failing_line(text: str) -> str:
    """The first line that says by itself that something failed; empty where none does."""
    text = _ends(text)
    return next(_failing_lines(text), "") if any(sign in text for sign in _ALL_SIGNS) else ""


def error_lines(text: str) -> list[str]:
    """The lines that tell why a call failed, what tells best first: one that names the cause, one that says
    that it failed, or the last; behind it others that say so, and those about the command or the machine."""
    text = _ends(text)
    lines = [line.strip() for line in text.splitlines()]
    last = next((each for each in reversed(lines) if each and not _says_nothing(each)), "")
    failing = [line for line in _failing_lines(text) if not _says_nothing(line)]
    first = [*_lines_of(_any_of(TELLING), text.encode(errors="replace")), *failing] or [last]
    about = (line for line in lines if len(line) <= LINE_CHARS_MAX and is_about_command(line))
    found = map(_clean_line, (*first[:ERROR_LINES_MAX], *islice(about, ERROR_LINES_MAX)))
    told = list(islice(dict.fromkeys(filter(None, found)), ERROR_LINES_MAX))
    advised = (line for before, line in pairwise(filter(None, lines)) if _advises(before, line))
    return list(dict.fromkeys([*told, *map(_clean_line, islice(advised, 1))]))


def _advises(before: str, line: str) -> bool:
    """Whether a line says what to run instead: by itself, or as a command behind one that announces it."""
    if not 0 < len(line) <= LINE_CHARS_MAX:
        return False
    is_announced = _ANNOUNCING.search(before[-LINE_CHARS_MAX:]) and _COMMAND.match(line)
    return _ADVICE.search(line) is not None or bool(is_announced)


def _lines_of(pattern: Pattern, data: bytes) -> list[str]:
    found = islice(pattern.finditer(data), ERROR_LINES_MAX)
    return [data[each.start() : each.end()].decode(errors="replace").strip() for each in found]


def _says_nothing(line: str) -> bool:
    """Whether a line only says that something failed, or is the harness's own."""
    return compile_pattern(_EMPTY).search(line.encode(errors="replace")) is not None


def output_text(output: JsonValue, depth: int = 0) -> str:
    """The text of a result: as it is, or the texts of its parts."""
    if isinstance(output, str):
        return output
    return "\n".join(islice(_texts(output, depth), PARTS_MAX))


def _texts(output: JsonValue, depth: int) -> Iterator[str]:
    if depth >= OUTPUT_DEPTH_MAX:
        return
    if isinstance(output, Mapping):
        for name in ("stdout", "stderr", "output", "text", "content", "error", "message"):
            if name in output:
                yield output_text(output[name], depth + 1)
    elif isinstance(output, Sequence):
        for each in output:
            yield output_text(each, depth + 1)


def _failing_lines(text: str) -> Iterator[str]:
    data = text.encode(errors="replace")
    for found in islice(_failures(data), _LINES_MAX):
        start = data.rfind(b"\n", 0, found.start() + 1) + 1
        end = data.find(b"\n", found.end())
        line = data[start : end if end >= 0 else len(data)]
        if not compile_pattern(_HARMLESS).search(line):
            yield line.decode(errors="replace").strip()


def _failures(data: bytes) -> Iterator[BytesMatch]:
    """What says that something failed. The patterns are many, so that they are tried only where a line has
    one of their words: in it and in the two lines before it, for a failure may begin there."""
    failing = _any_of(FAILURES).finditer
    begin = end = 0
    for signed in compile_pattern(LINE_OF_FAILURE).finditer(data):
        start = _lines_before(data, signed.start())
        if start > end:
            yield from failing(data, begin, end)
            begin = start
        end = signed.end()
    yield from failing(data, begin, end)


def _lines_before(data: bytes, start: int) -> int:
    """Where the second line before a place begins that is not blank."""
    for _ in range(2):
        start = data.rfind(b"\n", 0, len(data[:start].rstrip(b"\t\n\f\r "))) + 1
    return start


@cache
def _any_of(rows: Sequence[TextRow]) -> Pattern:
    return compile_pattern(("(?m)" + "|".join(f"(?:{row.pattern})" for row in rows)).encode())


def _exit_code(body: JsonObject) -> int | None:
    code = body.get("exit_code")
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _ends(text: str) -> str:
    half = READ_CHARS_MAX // 2
    return text if len(text) <= READ_CHARS_MAX else f"{text[:half]}\n{text[-half:]}"


def _clean_line(line: str) -> str:
    line = " ".join(line[: limits.STEP_ERROR_CHARS_MAX * 4].split())
    return redact_text(line).text[: limits.STEP_ERROR_CHARS_MAX]
