"""Spans inside a line that are no plain words of whoever writes it: inline code, and what stands in quotes.

Each is found in one pass, whatever the text is made of.
"""

import re

Span = tuple[int, int]

FENCE_CHARS_MIN = 3
_TICKS_OR_LINE_END = re.compile(r"`++|\n")
_QUOTE_SIGNS = re.compile(r"[\"“”„«»「」『』‘’'\n]")
_CLOSED_BY = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』", "‘": "’", '"': '"', "'": "'"}
_APOSTROPHES = frozenset("‘'")
# What an apostrophe begins that opens no quotation.
_CLIPPED = re.compile(r"(?:\d|(?:tis|twas|til|till|em|cause|cos|n|round)\b)", re.IGNORECASE)


def code_spans(text: str) -> list[Span]:
    """Inline code: from one or two backticks to the next as many, in one line."""
    if "`" not in text:
        return []
    following: dict[int, Span] = {}
    found: list[tuple[Span, Span | None]] = []
    for run in reversed(list(_TICKS_OR_LINE_END.finditer(text))):
        if run[0] == "\n":
            following.clear()
            continue
        length = run.end() - run.start()
        if length < FENCE_CHARS_MIN:
            found.append((run.span(), following.get(length)))
        following[length] = run.span()
    spans: list[Span] = []
    done = 0
    for opening, closing in reversed(found):
        if closing is not None and opening[0] >= done:
            spans.append((opening[0], closing[1]))
            done = closing[1]
    return spans


def quotations(text: str) -> tuple[list[Span], list[int]]:
    """What stands in quotes within one line, and where a quotation opens that its line does not close."""
    closed: list[Span] = []
    unclosed: list[int] = []
    opening, start, depth = "", 0, 0
    for found in _QUOTE_SIGNS.finditer(text):
        sign, place = found[0], found.start()
        if sign == "\n":
            if opening:
                unclosed.append(start)
            opening = ""
        elif not opening:
            if _opens(text, place):
                opening, start, depth = sign, place, 1
        elif sign in _CLOSED_BY[opening] and _closes(text, place):
            depth -= 1
            if not depth:
                closed.append((start, found.end()))
                opening = ""
        elif sign == opening and sign not in _CLOSED_BY[opening]:
            depth += 1
    return closed, [*unclosed, start] if opening else unclosed


def mask_spans(text: str, spans: list[Span]) -> str:
    """The text with a letter in place of every character of some spans."""
    if not spans:
        return text
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += text[done:start], "x" * (end - start)
        done = end
    return "".join([*parts, text[done:]])


def _opens(text: str, place: int) -> bool:
    sign, before, behind = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if sign == '"':
        # Behind a digit it is a measure, and at the end of a word it closes what was opened elsewhere.
        return not before.isdigit() and not (before.isalpha() and not behind.strip())
    if sign not in _APOSTROPHES:
        return sign in _CLOSED_BY
    is_free = not before or not (before.isalnum() or before in "'_")
    return is_free and bool(behind.strip()) and _CLIPPED.match(text, place + 1) is None


def _closes(text: str, place: int) -> bool:
    return text[place] not in "'’" or not text[place + 1 : place + 2].isalnum()
