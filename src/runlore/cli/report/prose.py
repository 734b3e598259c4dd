"""The body of a suggestion as a page shows it: a small part of Markdown, and everything else as plain text.

Headings, paragraphs, lists, tables, fenced code, `code` and **strong** words. Links, images and HTML stay the
letters they are: a transcript may have written them.
"""

import re
from collections.abc import Iterator, Sequence

from runlore.cli.report.markup import NOTHING, Markup, element, join_markup, lines, text

_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_ITEM = re.compile(r" {0,3}(?:[-*]|(\d{1,3})[.)]) +(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"[|: \t-]+")
# The page has a heading for each suggestion; those of its body come below.
_HEADING_LEVEL_MIN = 4


def prose(body: str) -> Markup:
    rest = body.splitlines()
    blocks: list[Markup] = []
    while rest:
        block, rest = _block(rest)
        blocks.append(block)
    return join_markup(*blocks)


def inline(words: str) -> Markup:
    """A line of prose, with its `code` and its **strong** words; a mark without another one is a letter."""
    pieces = words.split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = [f"{pieces[-2]}`{pieces[-1]}"]
    return join_markup(
        *(element("code", text(piece)) if n % 2 else _strong(piece) for n, piece in enumerate(pieces))
    )


def _block(rest: Sequence[str]) -> tuple[Markup, list[str]]:
    first = rest[0]
    if not first.strip():
        return NOTHING, list(rest[1:])
    if fence := _FENCE.match(first):
        return _code(rest, fence[1])
    if heading := _HEADING.fullmatch(first):
        level = min(max(_HEADING_LEVEL_MIN, len(heading[1]) + 2), 6)
        return element(f"h{level}", inline(heading[2])), list(rest[1:])
    if _ITEM.match(first):
        return _list(rest)
    if first.lstrip().startswith("|"):
        return _table(rest)
    count = next((n for n, line in enumerate(rest) if n and _ends_paragraph(line)), len(rest))
    return element("p", inline(" ".join(line.strip() for line in rest[:count]))), list(rest[count:])


def _ends_paragraph(line: str) -> bool:
    is_other = _FENCE.match(line) or _HEADING.fullmatch(line) or _ITEM.match(line)
    return not line.strip() or is_other is not None or line.lstrip().startswith("|")


def _code(rest: Sequence[str], fence: str) -> tuple[Markup, list[str]]:
    """What is fenced, as it stands. One that is never closed ends with the body."""
    end = next((n for n, line in enumerate(rest) if n and line.strip() == fence), len(rest))
    code = element("code", lines("\n".join(rest[1:end])))
    return element("pre", code, tabindex=0), list(rest[end + 1 :])


def _list(rest: Sequence[str]) -> tuple[Markup, list[str]]:
    is_ordered = _is_ordered(rest[0])
    items: list[list[str]] = []
    count = 0
    for line in rest:
        item = _ITEM.match(line)
        if item and _is_ordered(line) == is_ordered:
            items.append([item[2]])
        elif line.startswith((" ", "\t")) and line.strip():
            items[-1].append(line.strip())
        else:
            break
        count += 1
    shown = join_markup(*(element("li", _item(item)) for item in items))
    return element("ol" if is_ordered else "ul", shown), list(rest[count:])


def _is_ordered(line: str) -> bool:
    item = _ITEM.match(line)
    return item is not None and item[1] is not None


def _item(item: Sequence[str]) -> Markup:
    """What an item says; a fence inside it keeps its lines."""
    if any(_FENCE.match(line) for line in item[1:]):
        return join_markup(inline(item[0]), prose("\n".join(item[1:])))
    return inline(" ".join(item))


def _table(rest: Sequence[str]) -> tuple[Markup, list[str]]:
    count = next((n for n, line in enumerate(rest) if not line.lstrip().startswith("|")), len(rest))
    rows = [list(_cells(line)) for line in rest[:count] if not _RULE.fullmatch(line)]
    has_head = count > 1 and _RULE.fullmatch(rest[1]) is not None
    head, body = (rows[:1], rows[1:]) if has_head else ([], rows)
    table = join_markup(
        element("thead", *(_row(row, "th") for row in head)) if head else NOTHING,
        element("tbody", *(_row(row, "td") for row in body)),
    )
    return element("div", element("table", table), class_="wide", tabindex=0), list(rest[count:])


def _row(cells: Sequence[str], name: str) -> Markup:
    return element("tr", *(element(name, inline(cell)) for cell in cells))


def _cells(line: str) -> Iterator[str]:
    """The cells of a row; `\\|` and a bar between backticks stand for themselves."""
    cell, is_code = "", False
    inner = line.strip().removeprefix("|")
    position = 0
    while position < len(inner):
        character = inner[position]
        if character == "\\" and inner[position + 1 : position + 2] == "|":
            cell, position = cell + "|", position + 1
        elif character == "|" and not is_code:
            yield cell.strip()
            cell = ""
        else:
            is_code ^= character == "`"
            cell += character
        position += 1
    if cell.strip():
        yield cell.strip()


def _strong(words: str) -> Markup:
    pieces = words.split("**")
    if len(pieces) % 2 == 0:
        pieces[-2:] = [f"{pieces[-2]}**{pieces[-1]}"]
    return join_markup(
        *(element("strong", text(piece)) if n % 2 else text(piece) for n, piece in enumerate(pieces))
    )
