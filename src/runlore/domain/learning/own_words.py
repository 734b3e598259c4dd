"""Which part of a request is the user's own: all but code, quotes and what was pasted between marks.

What somebody pastes is what somebody else has said, and it may hold whatever looks like its end. So all from
the first mark of it on is blanked out, character by character: a place in the answer is the same place in the
request.
"""

import re

from runlore.domain.claims.support import is_stated
from runlore.domain.text.excerpt import ELLIPSIS
from runlore.domain.text.inline_spans import Span, code_spans
from runlore.domain.text.pasted import find_pasted, without

_READ_CHARS_MAX = 64_000
_WORD = re.compile(r"\w+")


def own_words(request: str) -> str:
    """The request with everything blanked out that is not surely the user's own: all from the first mark of
    something pasted on, and inline code but for its backticks."""
    before = cut_pasted(request)
    insides = [_inside(before, span) for span in code_spans(before)]
    return without(request, (*insides, (len(before), len(request))))


def cut_pasted(request: str) -> str:
    """What stands before the first mark of something pasted; all of it where there is none."""
    return request[: find_pasted(request).first]


def has_pasted(request: str) -> bool:
    """Whether a request holds more than the user's own words: what is pasted was said by somebody else."""
    return len(cut_pasted(request)) < len(request)


def is_said(own: str, statement: str) -> bool:
    """Whether the user's own words state something, word for word. Of a very long text only its beginning is
    read."""
    begun = own.rstrip()
    is_whole = len(begun) <= _READ_CHARS_MAX
    return is_stated(statement, begun if is_whole else begun[:_READ_CHARS_MAX] + ELLIPSIS)


def fold_quote(text: str) -> str:
    """A text as quotes are compared: its words in one case, whatever stands between them."""
    return " ".join(_WORD.findall(text.casefold()))


def _inside(text: str, span: Span) -> Span:
    """A code span without its backticks."""
    start, end = span
    ticks = 2 if text.startswith("``", start) else 1
    return start + ticks, end - ticks
