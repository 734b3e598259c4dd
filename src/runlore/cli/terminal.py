"""How text reaches a person: escaped, in columns that fit the terminal, and with no id cut in two.

Everything that is written for people passes through here, so that no text of a record can move the cursor,
reorder a line, be read as markup or break a table. Rich is loaded when the first line is written.
"""

import errno
import itertools
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, TextIO, TypeAlias

from runlore.domain.lazy import dataclass
from runlore.domain.text.safe_text import escape

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.text import Text

    from runlore.ports.operations import Progress

# What is piped has no edge; most rows stay one line at this width.
PIPED_COLUMNS = 200
# A text column must hold an id in one piece, or the table is written as blocks.
TEXT_COLUMNS_MIN = 32
_GAP_COLUMNS = 2
_INDENT_COLUMNS = 4
# More marks than this on one letter would be drawn over the lines above and below.
_MARKS_MAX = 4
_MARKS = frozenset({"Mn", "Me"})
_LINE_ENDS = re.compile(r"\r?\n(?:[ \t]*\r?\n)*[ \t]*|\t")
# A word, with what stands in backticks in it; where two blanks follow each other there is an empty one.
_WORDS = re.compile(r"(?:`[^`]*`|[^ `]|`)+|(?<= )(?= )")
# Variables that give colours or an edge to what is piped; without them a line is written as it is.
_RICH_HEEDS = frozenset({"COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"})
# What neither hides nor moves anything where an agent speaks.
_SPOKEN = ("\r\n", "\t", "\\")

# What stands in a cell, and its style where it has one.
Cell: TypeAlias = str | tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column and its title. What wraps is a text; an id never does. `lines` keeps a text's own lines.

    `labelled` repeats the title in blocks, for what says nothing without it; `right` is for numbers.
    """

    title: str = ""
    wraps: bool = False
    lines: bool = False
    labelled: bool = False
    right: bool = False
    columns_min: int = TEXT_COLUMNS_MIN


def say(
    text: str,
    style: str = "",
    *,
    keep_newlines: bool = False,
    on_stderr: bool = False,
    is_code: bool = False,
) -> None:
    """One line for a person. Where it is wider than a terminal it goes on in the next ones, between words and
    outside of backticks. What `is_code`, or has lines of its own, is left to the terminal."""
    stream = sys.stderr if on_stderr else sys.stdout
    if not stream.isatty() and not _RICH_HEEDS & os.environ.keys():
        stream.write(visible(text, keep_newlines=keep_newlines) + "\n")
        stream.flush()
        return
    console = _console(on_stderr=on_stderr)
    line = _text((text, style), keep_newlines=keep_newlines)
    is_left = keep_newlines or is_code or not has_edge(console.file)
    lines = [line] if is_left else _fit_lines(console, line, style)
    for each in lines:
        console.print(each, soft_wrap=True)


def say_spoken(text: str, style: str = "", *, on_stderr: bool = False) -> None:
    """What an agent or a command has said, as `spoken` writes it."""
    from rich.text import Text

    _console(on_stderr=on_stderr).print(Text(escape_spoken(text), style=style), soft_wrap=True)


def write_spoken(text: str) -> None:
    """All of it on standard output, as `spoken` writes it, with an end of line at its end."""
    sys.stdout.write(escape_spoken(text).removesuffix("\n") + "\n")


@contextmanager
def progress_bar(what: str, *, hidden: bool = False) -> Iterator["Progress"]:
    """Long work, shown on stderr while it runs, and only where a person is there to see it."""
    if hidden or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import Progress as Bar

    with Bar(console=_console(on_stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show_table(
    titled: Sequence[Column | str],
    rows: Iterable[Sequence[Cell]],
    *,
    indent: int = 0,
    on_stderr: bool = False,
) -> None:
    """Rows as a table; as blocks, texts below the rest, where the terminal is too narrow for one. A title
    stands for a column that has nothing else to say of itself.

    A text's further lines are indented, or stand in its column: it never looks like another row.
    """
    console = _console(on_stderr=on_stderr)
    columns = [each if isinstance(each, Column) else Column(title=each) for each in titled]
    texts = [
        [_text(cell, keep_newlines=column.lines) for column, cell in zip(columns, row, strict=True)]
        for row in rows
    ]
    needed = [
        min(widest, column.columns_min) if column.wraps else widest
        for column, widest in zip(columns, _widths(columns, texts), strict=True)
    ]
    if indent + sum(needed) + _GAP_COLUMNS * (len(columns) - 1) <= console.width:
        _show_columns(console, columns, texts, indent=indent)
    else:
        for row in texts:
            _show_block(console, columns, row, indent=indent)


def visible(text: str, *, keep_newlines: bool = False) -> str:
    """The text with whatever a terminal would act on, hide or pile up written so that it can be read.

    Without its lines it is one line: where one ended, and where a tab stood, there is a blank.
    """
    shown = escape(text if keep_newlines else _LINE_ENDS.sub(" ", text), keep_newlines=keep_newlines)
    return shown if shown.isascii() else "".join(_limit_marks(shown))


def escape_spoken(text: str) -> str:
    """What an agent or a command says: as `visible`, but its lines, tabs and backslashes stay what they are,
    so that code in it can be used. What looks like a code may have been written as one."""
    for mark in _SPOKEN:
        if mark in text:
            return mark.join(map(escape_spoken, text.split(mark)))
    return visible(text, keep_newlines=True)


def let_go(stream: TextIO) -> None:
    """What is left in the buffer has nowhere to go; without this it would be tried again at the exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _limit_marks(text: str) -> Iterator[str]:
    """The text with no more marks on a letter than writing needs; a mark at the start has no letter."""
    start = True
    for is_mark, characters in itertools.groupby(text, _is_mark):
        run = "".join(characters)
        room = 0 if start else _MARKS_MAX
        start = False
        yield run if not is_mark or len(run) <= room else f"{run[:room]}(+{len(run) - room} marks)"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in _MARKS


def _console(*, on_stderr: bool = False) -> "Console":
    from rich.console import Console

    stream = sys.stderr if on_stderr else sys.stdout
    size = shutil.get_terminal_size((80 if stream.isatty() else PIPED_COLUMNS, 24))
    # With the height left out, rich takes every dumb terminal for 80 columns wide.
    console = Console(
        file=stream, width=size.columns, height=size.lines, highlight=False, markup=False, emoji=False
    )
    console.on_broken_pipe = _raise_broken_pipe  # type: ignore[method-assign]
    return console


def _raise_broken_pipe() -> None:
    """A reader that went away is the caller's to see; rich would leave, and close standard output."""
    raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _text(cell: Cell, *, keep_newlines: bool = False) -> "Text":
    from rich.text import Text

    text, style = cell if isinstance(cell, tuple) else (cell, "")
    return Text(visible(text, keep_newlines=keep_newlines), style=style)


def has_edge(stream: IO[str]) -> bool:
    """Whether lines end somewhere: what is piped has no edge, unless somebody says where."""
    return stream.isatty() or "COLUMNS" in os.environ


def _fit_lines(console: "Console", line: "Text", style: str) -> "list[Text]":
    """A line as lines that fit, as far as its words do; what is in backticks is one word."""
    from rich.cells import cell_len
    from rich.text import Text

    plain = line.plain
    if line.cell_len <= console.width:
        return [line]
    lead = len(plain) - len(plain.lstrip(" "))
    margin = " " * (lead + _GAP_COLUMNS)
    first, *words = _WORDS.findall(plain[lead:])
    lines = [" " * lead + first]
    for word in words:
        if cell_len(lines[-1]) + cell_len(word) < console.width:
            lines[-1] += f" {word}"
        else:
            lines.append(margin + word)
    return [Text(each.rstrip(), style=style) for each in lines]


def _widths(columns: Sequence[Column], rows: Sequence[Sequence["Text"]]) -> list[int]:
    return [
        max([len(column.title), *(row[number].cell_len for row in rows)])
        for number, column in enumerate(columns)
    ]


def _label(column: Column) -> str:
    if not column.labelled:
        return ""
    return column.title.lower() + (": " if column.wraps else " ")


def _show_columns(
    console: "Console", columns: Sequence[Column], rows: Sequence[Sequence["Text"]], *, indent: int
) -> None:
    from rich.table import Table

    titled = any(column.title for column in columns)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP_COLUMNS, 0, 0), show_header=titled)
    for column in columns:
        justify: JustifyMethod = "right" if column.right else "default"
        table.add_column(column.title, overflow="fold", no_wrap=not column.wraps, justify=justify)
    for row in rows:
        table.add_row(*row)
    with console.capture() as capture:
        console.print(table, width=console.width - indent)
    # Rich fills every line up to the table's edge; nobody wants to copy that.
    lines = (f"{' ' * indent}{line}".rstrip() for line in capture.get().splitlines())
    console.file.write("".join(f"{line}\n" for line in lines))


def _show_block(console: "Console", columns: Sequence[Column], row: Sequence["Text"], *, indent: int) -> None:
    from rich.text import Text

    cells = [
        (column, Text.assemble(_label(column), text))
        for column, text in zip(columns, row, strict=True)
        if text
    ]
    line = Text()
    for cell in (cell for column, cell in cells if not column.wraps):
        if line and line.cell_len + _GAP_COLUMNS + cell.cell_len > console.width:
            console.print(line, soft_wrap=True)
            line = Text()
        line = Text.assemble(line, " " * _GAP_COLUMNS if line else "", cell)
    if line:
        console.print(line, soft_wrap=True)
    margin = " " * (indent + _INDENT_COLUMNS)
    # Below this width the terminal breaks the lines, so that an id still comes out in one piece.
    width = max(console.width - len(margin), TEXT_COLUMNS_MIN)
    for cell in (cell for column, cell in cells if column.wraps):
        for piece in cell.wrap(console, width, overflow="fold"):
            piece.rstrip()
            console.print(Text(margin) + piece, soft_wrap=True)
