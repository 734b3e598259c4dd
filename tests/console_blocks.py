"""The commands that the documentation shows, as data: found, run in order, and compared with its words.

A fenced block marked `console` is a promise. In it

    $ command          is run by the shell, in one scratch home for the whole file
    > more of it       continues the command
    # exits 5          at a command's end says that it does not exit with 0
    anything else      is what it prints; where nothing follows, what it prints is not compared
    ...                stands for any text in a line, and alone on a line for any number of lines

A time matches any time. An id matches any id, the same one wherever it stands again, in later
commands too: pages can show real ids and be run as they are.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w-]*)")
EXITS = re.compile(r"\s+# exits (?P<code>\d+)$")
ID = r"\b[a-z]{2,8}_[0-9a-hjkmnp-tv-z]{26}\b"
TIME = r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC|\+00:00)?"
PIECE = re.compile(rf"(?P<lines>^\.\.\.\n)|(?P<text>\.\.\.)|(?P<time>{TIME})|(?P<id>{ID})", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block of a page, with the line it begins on."""

    language: str
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command, and what the page says that it prints and exits with."""

    line: int
    command: str
    output: str
    exit_code: int = 0


class Mismatch(Exception):
    """The page says one thing and the program another."""


def blocks(page: str) -> Iterator[Block]:
    """Every fenced block, in order; one that is never closed ends with the page."""
    fence, language, start, inside = "", "", 0, list[str]()
    for number, line in enumerate(page.splitlines(), start=1):
        if fence:
            if line.strip() == fence:
                yield Block(language=language, line=start, lines=tuple(inside))
                fence = ""
            else:
                inside.append(line)
        elif opening := FENCE.match(line):
            fence, language, start, inside = opening["fence"], opening["language"], number, []
    if fence:
        yield Block(language=language, line=start, lines=tuple(inside))


def steps(page: str) -> list[Step]:
    """Every command of the page's `console` blocks, in order."""
    return [step for block in blocks(page) if block.language == "console" for step in _steps_of(block)]


@dataclass
class Ids:
    """Which real id each id on the page stands for."""

    real: dict[str, str] = field(default_factory=dict)

    def in_command(self, command: str) -> str:
        """The command with the page's ids replaced; one not seen before stays as it is."""
        return re.sub(ID, lambda found: self.real.get(found[0], found[0]), command)

    def learn(self, expected: str, printed: str) -> None:
        """Compare a page's words with what was printed, and remember the ids; `Mismatch` otherwise."""
        groups: dict[str, str] = {}
        found = re.fullmatch(self._pattern(expected, groups), printed)
        if found is None:
            difference = difflib.ndiff(expected.splitlines(), printed.splitlines())
            raise Mismatch("the page (-) and the program (+) differ:\n" + "\n".join(difference))
        self.real.update({page_id: found[group] for page_id, group in groups.items()})
        if len(set(self.real.values())) < len(self.real):
            raise Mismatch(f"two ids of the page stand for one real id: {self.real}")

    def _pattern(self, expected: str, groups: dict[str, str]) -> str:
        pattern, end = "", 0
        for piece in PIECE.finditer(expected):
            pattern += re.escape(expected[end : piece.start()]) + self._piece(piece, groups)
            end = piece.end()
        return pattern + re.escape(expected[end:])

    def _piece(self, piece: re.Match[str], groups: dict[str, str]) -> str:
        match piece.lastgroup:
            case "lines":
                return r"(?:.*\n)*?"
            case "text":
                return r"[^\n]*?"
            case "time":
                return TIME
        if known := self.real.get(piece[0]):
            return re.escape(known)
        if piece[0] in groups:
            return f"(?P={groups[piece[0]]})"
        groups[piece[0]] = f"id{len(groups)}"
        return f"(?P<{groups[piece[0]]}>{ID})"


def normalised(printed: str) -> str:
    """Without white space at the ends of lines and of the whole, as pages are written."""
    text = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")
    return text + "\n" if text else ""


def _steps_of(block: Block) -> Iterator[Step]:
    line, command, output = 0, list[str](), list[str]()
    for number, text in enumerate(block.lines, start=block.line + 1):
        if text.startswith("$ "):
            if command:
                yield _step(line, command, output)
            line, command, output = number, [text[2:]], []
        elif text.startswith("> ") and command and not output:
            command.append(text[2:])
        elif command:
            output.append(text)
        elif text.strip():
            raise Mismatch(f"line {number}: a console block begins with a command after `$ `")
    if command:
        yield _step(line, command, output)


def _step(line: int, command: list[str], output: list[str]) -> Step:
    text = "\n".join(command)
    exits = EXITS.search(text)
    return Step(
        line=line,
        command=EXITS.sub("", text),
        output=normalised("\n".join(output)),
        exit_code=int(exits["code"]) if exits else 0,
    )
