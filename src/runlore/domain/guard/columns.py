"""Secrets told by the head of their column: tables of Markdown, comma-separated values, rows of SQL."""

from collections.abc import Iterator

from runlore.domain.guard.finding import SecretFinding
from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.guard.shapes import is_strong
from runlore.domain.guard.values import is_made_up
from runlore.domain.guard.view import View

COLUMN_HEADS = ("password", "passwd", "passwort", "secret", "token", "api key", "api_key", "apikey")
ROW_CHARS_MAX = 400
ROWS_MAX = 200
STEPS_A_HEAD = 6
STEPS_A_ROW = 12
# Nothing but names between separators: what else has separators is a list or a call.
HEAD = (
    rb"^[ \t]*(?:(?:\|[ \t]*[\w *`-]{1,32})+\||(?:[\"']?[\w -]{1,32}[\"']?,)+[\"']?[\w -]{1,32}[\"']?"
    rb"|(?:[\w -]{1,32}\t)+[\w -]{1,32})[ \t\r]*$"
)
INSERTED = rb"[^()\n]{0,200}\)\s{1,8}(?i:values)\s{0,8}\("
BEHIND_NAME = b" \"'`*s"
HEAD_ENDS = frozenset({b"|", b",", b"\t", b")", b"\r", b"\n"})
RULER = b"|-: \t\r"
AROUND_CELL = " \t\r\"'`()*;"


def column_values(view: View, start: int, end: int) -> Iterator[SecretFinding]:
    """Every secret below the head of a column that has a known word from `start` to `end`."""
    data, low = view.data, max(0, start - ROW_CHARS_MAX)
    if data[end : end + 4].lstrip(BEHIND_NAME)[:1] not in HEAD_ENDS:
        return
    view.effort.left -= STEPS_A_HEAD
    inserted = compile_pattern(INSERTED).match(data, end, end + ROW_CHARS_MAX)
    if inserted is not None:
        at = data.count(b",", data.rfind(b"(", low, start) + 1, start)
        yield from _cell(view, inserted.end(), b",", at)
        return
    begin = data.rfind(b"\n", low, start) + 1
    stop = data.find(b"\n", end, end + ROW_CHARS_MAX)
    head = data[begin:stop]
    if stop < 0 or not compile_pattern(HEAD).match(head):
        return
    separator = next(each for each in (b"|", b",", b"\t") if each in head)
    # Only the first line of a table is its head: so no row is read twice.
    above = data[data.rfind(b"\n", max(0, begin - ROW_CHARS_MAX), max(0, begin - 1)) + 1 : begin]
    if above.count(separator) == head.count(separator):
        return
    for _ in range(ROWS_MAX):
        row, stop = stop + 1, data.find(b"\n", stop + 1, stop + 1 + ROW_CHARS_MAX)
        cells = data[row : stop if stop >= 0 else row + ROW_CHARS_MAX]
        if cells.count(separator) != head.count(separator):
            return
        view.effort.left -= STEPS_A_ROW
        if cells.strip(RULER):
            yield from _cell(view, row, separator, data.count(separator, begin, start))
        if stop < 0:
            return


def _cell(view: View, begin: int, separator: bytes, at: int) -> Iterator[SecretFinding]:
    """The cell of the row that begins at `begin`, where it may be a secret."""
    for _ in range(at):
        begin = view.data.find(separator, begin, begin + ROW_CHARS_MAX) + 1
        if not begin:
            return
    ends = (view.data.find(each, begin, begin + ROW_CHARS_MAX) for each in (separator, b"\n"))
    end = min((each for each in ends if each >= 0), default=min(len(view.data), begin + ROW_CHARS_MAX))
    cell = view.text[begin:end]
    value = cell.strip(AROUND_CELL)
    if not set(value).isdisjoint(" (){}") or not (is_made_up(value) or is_strong(value)):
        return
    begin += len(cell) - len(cell.lstrip(AROUND_CELL))
    yield SecretFinding("column", begin, begin + len(value))
