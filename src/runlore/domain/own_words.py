"""Which part of a request is the user's own: all but code, quotes and what was pasted between marks.

What somebody pastes is what somebody else has said, and it may hold whatever looks like its end. So all from
the first mark of it on is blanked out, character by character: a place in the answer is the same place in the
request.
"""

import re
from collections.abc import Iterator

from runlore.domain.inline_spans import Span, code_spans, masked, quotations
from runlore.domain.pasted import pasted_in, without
from runlore.domain.subject_words import NEGATIONS, QUESTIONS, SUBORDINATORS
from runlore.domain.wording import folded, read_words

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n|\n(?=\s*(?:[-*+•#]|\d{1,3}[.)])\s)")
# What turns the rest of its sentence round, or makes it doubtful.
_TURNING = NEGATIONS | SUBORDINATORS | QUESTIONS | {"or", "maybe", "perhaps", "ne", "pas", "false", "wrong"}
# What stands where code or a quotation stood: no statement reaches across it.
_GAP = "\ufffc"
_READ_CHARS_MAX = 64_000


def own_words(request: str) -> str:
    """The request with everything blanked out that is not surely the user's own: all from the first mark of
    something pasted on, and inline code but for its backticks."""
    before = unpasted(request)
    insides = [_inside(before, span) for span in code_spans(before)]
    return without(request, (*insides, (len(before), len(request))))


def unpasted(request: str) -> str:
    """What stands before the first mark of something pasted; all of it where there is none."""
    return request[: pasted_in(request).first]


def has_pasted(request: str) -> bool:
    """Whether a request holds more than the user's own words: what is pasted was said by somebody else."""
    return len(unpasted(request)) < len(request)


def is_said(own: str, statement: str) -> bool:
    """Whether the user's own words say a statement: word for word in one sentence, and neither denied, asked,
    quoted nor put under a condition there."""
    wanted = _cores(statement)
    return bool(wanted) and any(_says(_cores(sentence), wanted) for sentence in _sentences(own))


def _says(sentence: list[str], wanted: list[str]) -> bool:
    for start in range(len(sentence) - len(wanted) + 1):
        if sentence[start : start + len(wanted)] == wanted:
            around = {*sentence[:start], *sentence[start + len(wanted) :]}
            return not around & _TURNING
    return False


def _sentences(own: str) -> Iterator[str]:
    """The sentences that are no questions. Of a very long text only its beginning is read."""
    begun = own.rstrip()[: _READ_CHARS_MAX + 1]
    sentences = _SENTENCE_ENDS.split(_with_gaps(begun))
    if len(begun) > _READ_CHARS_MAX:
        # The last one is not whole.
        del sentences[-1]
    for sentence in sentences:
        if not sentence.rstrip().endswith(("?", "？")):
            yield sentence


def _with_gaps(text: str) -> str:
    code = code_spans(text)
    quoted, _ = quotations(masked(text, code))
    parts: list[str] = []
    done = 0
    for start, end in sorted([*code, *quoted]):
        if start >= done:
            parts += text[done:start], f" {_GAP} "
        done = max(done, end)
    return "".join([*parts, text[done:]])


def _inside(text: str, span: Span) -> Span:
    """A code span without its backticks."""
    start, end = span
    ticks = 2 if text.startswith("``", start) else 1
    return start + ticks, end - ticks


def _cores(text: str) -> list[str]:
    return [word.core for word in read_words(folded(text))]
