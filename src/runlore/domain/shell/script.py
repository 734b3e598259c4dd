"""Reads a script with tree-sitter's Bash grammar: every simple command in it, in the order they stand.

It never fails: what cannot be parsed is read word by word, and `whole` says that something may be missing.
The grammar's time grows with the square of some hostile texts, so that no text beyond a few thousand
characters, and none that is dense with such signs, is given to it in one piece.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from runlore.domain.lazy import dataclass
from runlore.domain.shell.command import HERE, Redirect, ShellCommand
from runlore.domain.shell.lifting import lift_texts
from runlore.domain.shell.plain_script import plain_commands
from runlore.domain.shell.wrappers import SHELLS, WRAPPERS, inner_of

SCRIPT_CHARS_MAX = 262_144
PARSED_CHARS_MAX = 4_096
COMMANDS_MAX = 2_000
NESTING_MAX = 6
EXECUTED_MAX = 16
# Scripts that are remembered: what a call does and what it reads from outside are told by the same one.
REMEMBERED_SCRIPTS = 512
REMEMBERED_CHARS_MAX = 4_096
EXECUTING = ("-exec", "-execdir", "-ok", "-okdir")
# How often a sign may stand in one piece: the grammar's time grows with the square of these.
_DENSE = (("|", 48), ("=(", 16), ("<", 48), (">", 48), ("()", 32), ("${", 64), ("&", 256))

_LANGUAGE = Language(tree_sitter_bash.language())
# The grammar's scanner looks letters up in a table of the first few: a rare one behind `{` ends the process.
# To a shell they are all parts of words, so that it is shown a plain letter for each of their bytes.
_AS_LETTERS = bytes.maketrans(bytes(range(0x80, 0x100)), b"x" * 0x80)
_BREAKS = re.compile(r"[;|&\n(){}`]+")
_WORD = re.compile(r"[^\s<>]+")
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\\n])')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ANSI_ESCAPED = re.compile(r"\\(?:[xuU]([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_DECLARING = frozenset({"declaration_command", "unset_command"})
_COMMANDS = frozenset({"command", "test_command"}) | _DECLARING
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
# What stands around one command and is a part of it.
_AROUND = frozenset({"redirected_statement", "negated_command"})
# What is redirected around one of these reaches the commands in it.
_BODIES = frozenset({"subshell", "compound_statement", "do_group", "list"})
# Any other program is what it seems, and runs nothing that stands in its words.
_SEEN_THROUGH = frozenset({*SHELLS, *WRAPPERS, "eval", "find"})


@dataclass(frozen=True, kw_only=True)
class Script:
    """The commands of a script. `whole` says that all of it could be parsed.

    `is_cut` says that there is more of it, or that it is nested deeper, than is read.
    """

    commands: tuple[ShellCommand, ...]
    whole: bool = True
    is_cut: bool = False


def commands_of(text: str) -> tuple[ShellCommand, ...]:
    """Every simple command of a script, in the order they stand, wrappers such as `sudo` seen through."""
    return script_of(text).commands


def script_of(text: str) -> Script:
    """The same, and whether everything could be read."""
    return _remembered(text) if len(text) <= REMEMBERED_CHARS_MAX else _read(text)


def _read(text: str) -> Script:
    reading = _Reading()
    commands = tuple(reading.script(text, depth=0))
    return Script(commands=commands, whole=reading.whole, is_cut=reading.is_cut)


_remembered = lru_cache(maxsize=REMEMBERED_SCRIPTS)(_read)


def commands_of_words(words: Sequence[str]) -> tuple[ShellCommand, ...]:
    """The commands of a call that comes as words (`["bash", "-lc", "make test"]`) and not as a script."""
    return script_of_words(words).commands


def script_of_words(words: Sequence[str]) -> Script:
    """The same, and whether everything could be read."""
    if not words:
        return Script(commands=())
    reading = _Reading()
    command = ShellCommand(program=words[0], arguments=tuple(words[1:]), text=" ".join(words))
    commands = tuple(reading.unwrap(command, depth=0))
    return Script(commands=commands, whole=reading.whole, is_cut=reading.is_cut)


class _Reading:
    """One script and what is nested in it; counts, so that no script costs more than its bounds."""

    def __init__(self) -> None:
        self.whole = True
        self.is_cut = False
        self._left = COMMANDS_MAX
        self._chars_left = SCRIPT_CHARS_MAX
        self._pipelines = 0

    def script(self, text: str, *, depth: int) -> Iterator[ShellCommand]:
        text = self._bound_text(text.replace("\0", " "))
        plain = plain_commands(text)
        if plain is not None:
            yield from self._plain(plain, depth=depth)
            return
        is_long = len(text) > PARSED_CHARS_MAX or _is_dense(text)
        texts: dict[str, str] = {}
        inner: tuple[str, ...] = ()
        if is_long or "<<" in text or "\\\n" in text:
            taken = lift_texts(text, quotes=is_long)
            text, texts, inner = taken.text, taken.texts, taken.inner
        for piece in _pieces(text):
            source = _Source(piece, texts)
            found = source.words() if _is_dense(piece) else source.find_commands()
            yield from self._place(found, source, depth=depth)
            self.whole = self.whole and source.whole
        self.is_cut = self.is_cut or (bool(inner) and depth >= NESTING_MAX)
        for each in inner if depth < NESTING_MAX else ():
            yield from self.script(each, depth=depth + 1)

    def unwrap(self, command: ShellCommand, *, depth: int) -> Iterator[ShellCommand]:
        """The command that a wrapper runs, or the commands of the script that a shell is given."""
        name = _name(command.program)
        inner = inner_of(name, command.arguments)
        if inner is None and name in SHELLS and command.stdin_text:
            inner_script: str | None = command.stdin_text
        else:
            inner_script = inner.script if inner else None
        if depth >= NESTING_MAX or (inner is None and inner_script is None):
            self.whole = self.whole and depth < NESTING_MAX
            self.is_cut = self.is_cut or inner is not None or inner_script is not None
            yield from self._with_executed(command, depth=depth)
            return
        wrappers = (*command.wrappers, name)
        if inner_script is not None:
            commands = [
                replace(each, wrappers=(*wrappers, *each.wrappers))
                for each in self.script(inner_script, depth=depth + 1)
            ]
            yield from commands or [command]
            return
        if inner:
            words = [command.arguments[index] for index in inner.words]
            inside = replace(
                command,
                program=words[0],
                arguments=tuple(words[1:]),
                assignments=(*command.assignments, *inner.assignments),
                wrappers=wrappers,
            )
            yield from self.unwrap(inside, depth=depth + 1)

    def _with_executed(self, command: ShellCommand, *, depth: int) -> Iterator[ShellCommand]:
        """The command, and what `find -exec` runs for each file."""
        yield command
        if _name(command.program) != "find" or "find" in command.wrappers or depth >= NESTING_MAX:
            return
        words = command.arguments
        starts = [index + 1 for index, word in enumerate(words) if word in EXECUTING]
        self.is_cut = self.is_cut or len(starts) > EXECUTED_MAX
        for start in starts[:EXECUTED_MAX]:
            end = next((at for at in range(start, len(words)) if words[at] in (";", "+")), len(words))
            if words[start:end]:
                inside = ShellCommand(
                    program=words[start],
                    arguments=words[start + 1 : end],
                    wrappers=(*command.wrappers, "find"),
                    text=" ".join(words[start:end]),
                    pipeline=command.pipeline,
                    place=command.place,
                )
                yield from self.unwrap(inside, depth=depth + 1)

    def _place(self, found: Iterator["_Found"], source: "_Source", *, depth: int) -> Iterator[ShellCommand]:
        """The commands with their places, each pipeline counted once."""
        numbers: dict[int, int] = {}
        before: ShellCommand | None = None
        for each in found:
            if self._left <= 0:
                self.whole, self.is_cut = False, True
                return
            self._left -= 1
            number = numbers.get(each.pipeline)
            if number is None:
                number = numbers[each.pipeline] = self._pipelines
                self._pipelines += 1
            before = command = _feed(source.restore(each.command(number)), before)
            if depth < NESTING_MAX and _name(command.program) not in _SEEN_THROUGH:
                yield command
            else:
                yield from self.unwrap(command, depth=depth)

    def _plain(self, commands: Sequence[ShellCommand], *, depth: int) -> Iterator[ShellCommand]:
        """The commands of a script that needs no grammar; their pipelines are counted already."""
        first = self._pipelines
        before: ShellCommand | None = None
        for each in commands:
            if self._left <= 0:
                self.whole, self.is_cut = False, True
                return
            self._left -= 1
            placed = replace(each, pipeline=first + each.pipeline) if first else each
            self._pipelines = placed.pipeline + 1
            before = command = _feed(placed, before)
            if depth < NESTING_MAX and _name(command.program) not in _SEEN_THROUGH:
                yield command
            else:
                yield from self.unwrap(command, depth=depth)

    def _bound_text(self, text: str) -> str:
        if len(text) > self._chars_left:
            cut = text.rfind("\n", 0, self._chars_left)
            text = text[: cut if cut > 0 else self._chars_left]
            self.whole, self.is_cut = False, True
        self._chars_left -= len(text)
        return text


class _Found(NamedTuple):
    """A command as it was found: the pipeline that it is in has no number yet."""

    program: str
    arguments: tuple[str, ...]
    text: str
    pipeline: int
    place: int = 0
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[tuple[str, str], ...] = ()

    def command(self, pipeline: int) -> ShellCommand:
        return ShellCommand(
            program=self.program,
            arguments=self.arguments,
            assignments=self.assignments,
            redirects=self.redirects,
            text=self.text,
            pipeline=pipeline,
            place=self.place,
        )


class _Source:
    """One piece of a script."""

    def __init__(self, text: str, texts: dict[str, str]) -> None:
        self.whole = True
        self._text = text
        self._texts = texts
        self._data = text.encode("utf-8", "replace")

    def find_commands(self) -> Iterator[_Found]:
        """The commands of the piece. One that the grammar can make nothing of is read by its words."""
        is_empty = True
        for each in self.parse():
            is_empty = False
            yield each
        if is_empty and not self.whole:
            yield from self.words()

    def parse(self) -> Iterator[_Found]:
        """The commands that the grammar finds; what it cannot place is passed over."""
        root = Parser(_LANGUAGE).parse(self._data.translate(_AS_LETTERS)).root_node
        self.whole = not root.has_error
        # A node, the pipeline it is in, its place there, and the redirects of the statement around it.
        todo: list[tuple[Node, int, int, tuple[Redirect, ...]]] = [(root, -1, 0, ())]
        while todo:
            node, pipeline, place, redirects = todo.pop()
            kind = node.type
            if kind in _COMMANDS:
                at = node.id if pipeline < 0 else pipeline
                if command := self._command(node, redirects, pipeline=at, place=place):
                    yield command
                # Inside are substitutions only, and each is a pipeline of its own.
                pipeline, place, redirects = -1, 0, ()
            elif kind == "redirected_statement":
                redirects = (*redirects, *self._redirects(node))
            steps = _steps(node) if kind == "pipeline" else {}
            passed_on = redirects if kind in _BODIES else ()
            for child in reversed(node.children):
                if not child.child_count or (child_kind := child.type) == "comment":
                    continue
                if steps and child.id in steps:
                    at, is_last = steps[child.id]
                    todo.append((child, node.id, at, redirects if is_last else ()))
                elif child_kind in _REDIRECTS or kind == "pipeline":
                    todo.append((child, -1, 0, ()))
                elif kind in _AROUND:
                    todo.append((child, pipeline, place, redirects))
                else:
                    todo.append((child, -1, 0, passed_on))

    def words(self) -> Iterator[_Found]:
        """The commands of a text that is not parsed: words up to the next separator."""
        self.whole = False
        for number, segment in enumerate(_BREAKS.split(self._text)):
            words = [word for each in _WORD.findall(segment) if (word := _unquote(each))]
            while words and _is_assignment(words[0]):
                del words[0]
            if words:
                yield _Found(words[0], tuple(words[1:]), segment.strip(), number)

    def restore(self, command: ShellCommand) -> ShellCommand:
        """The command with the long texts that were taken out."""
        if not self._texts:
            return command
        back = self._back
        return replace(
            command,
            program=back(command.program),
            arguments=tuple(map(back, command.arguments)),
            assignments=tuple((name, back(value)) for name, value in command.assignments),
            redirects=tuple(
                Redirect(
                    "<<" if each.operator in HERE and each.target in self._texts else each.operator,
                    back(each.target),
                )
                for each in command.redirects
            ),
        )

    def _back(self, word: str) -> str:
        if word in self._texts:
            return self._texts[word]
        if not any(name in word for name in self._texts):
            return word
        for name, text in self._texts.items():
            word = word.replace(name, text)
        return word

    def _command(
        self, node: Node, redirects: tuple[Redirect, ...], *, pipeline: int, place: int
    ) -> _Found | None:
        if node.type != "command":
            return self._keyword(node, redirects, pipeline=pipeline, place=place)
        program = ""
        arguments: list[str] = []
        assignments: list[tuple[str, str]] = []
        own: list[Redirect] = []
        for child in node.children:
            kind = child.type
            if kind == "word":
                arguments.append(self._word(child))
            elif kind == "variable_assignment" and not program:
                name, _, value = self._resolve(child).partition("=")
                assignments.append((name, value))
            elif kind in _REDIRECTS:
                own.extend(self._redirect(child))
            elif kind == "command_name":
                program = self._resolve(child.children[0] if child.child_count else child)
            elif child.is_named or kind not in ("(", ")"):
                arguments.append(self._resolve(child))
        if not program:
            return None
        own += redirects
        return _Found(
            program,
            (*arguments, *(word for operator, word in own if not operator)),
            self._slice(node),
            pipeline,
            place,
            tuple(each for each in own if each.operator),
            tuple(assignments),
        )

    def _keyword(
        self, node: Node, redirects: tuple[Redirect, ...], *, pipeline: int, place: int
    ) -> _Found | None:
        words = self._slice(node).split()
        if not words:
            return None
        arguments = [self._resolve(child) for child in node.children[1:] if child.is_named]
        return _Found(words[0], tuple(arguments), self._slice(node), pipeline, place, redirects)

    def _redirects(self, statement: Node) -> Iterator[Redirect]:
        for child in statement.children:
            if child.type in _REDIRECTS:
                yield from self._redirect(child)

    def _redirect(self, node: Node) -> Iterator[Redirect]:
        operator = ""
        for child in node.children:
            if child.type == "file_descriptor":
                continue
            if not child.is_named or (child.type == "ERROR" and not child.is_missing):
                operator += self._slice(child).strip()
            elif child.type in _REDIRECTS:
                yield from self._redirect(child)
            else:
                yield Redirect(operator, self._resolve(child))
                # Of `git >file push` the grammar takes both words for files.
                operator = operator if operator in HERE else ""

    def _slice(self, node: Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _word(self, node: Node) -> str:
        text = self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")
        return _ESCAPED.sub(_escape, text) if "\\" in text else text

    def _resolve(self, node: Node) -> str:
        kind = node.type
        if kind == "word":
            return self._word(node)
        if kind in ("concatenation", "variable_assignment"):
            return "".join([self._resolve(child) for child in node.children])
        text = self._slice(node)
        if kind in ("string", "translated_string"):
            inside = text.lstrip("$")[1:-1] if text.endswith('"') else text[1:]
            is_plain = "\\" not in inside
            return inside if is_plain else _ESCAPED_IN_QUOTES.sub(lambda found: found[1].strip("\n"), inside)
        if kind == "raw_string":
            return text[1:-1]
        if kind == "ansi_c_string":
            return _ANSI_ESCAPED.sub(_ansi_escape, text[2:-1])
        return text


def _feed(command: ShellCommand, before: ShellCommand | None) -> ShellCommand:
    """A shell that is fed by a pipe runs what the command before it prints, where that can be told."""
    is_fed = before is not None and command.pipeline == before.pipeline and command.place == before.place + 1
    if before is None or not is_fed or _name(command.program) not in SHELLS or command.stdin_text:
        return command
    if before.program in ("echo", "printf"):
        printed = _ANSI_ESCAPED.sub(_ansi_escape, " ".join(before.arguments))
    else:
        printed = before.stdin_text if before.program in ("cat", "tee") else ""
    if not printed:
        return command
    return replace(command, redirects=(*command.redirects, Redirect("<<<", printed)))


def _ansi_escape(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code:
        number = int(code, 16 if found[1] else 8)
        return chr(number) if 0 < number < 0xD800 else ""
    return _ANSI.get(found[3], found[3])


def _escape(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def _steps(node: Node) -> dict[int, tuple[int, bool]]:
    """The commands of a pipeline by their node: their place, and whether it is the last one's."""
    steps = [child for child in node.children if child.is_named and child.type != "comment"]
    return {child.id: (at, at == len(steps) - 1) for at, child in enumerate(steps)}


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces of whole lines that are short enough to be parsed."""
    if len(text) <= PARSED_CHARS_MAX:
        if text.strip():
            yield text
        return
    lines: list[str] = []
    chars = 0
    for line in text.split("\n"):
        if lines and chars + len(line) > PARSED_CHARS_MAX:
            yield "\n".join(lines)
            lines, chars = [], 0
        lines.append(line)
        chars += len(line) + 1
    yield "\n".join(lines)


def _is_dense(text: str) -> bool:
    """Whether a piece is too long, or has too many of the signs that cost the grammar most."""
    return len(text) > PARSED_CHARS_MAX or any(text.count(sign) > most for sign, most in _DENSE)


def _name(program: str) -> str:
    return program.rstrip("/").rpartition("/")[2]


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _unquote(word: str) -> str:
    return word.replace('"', "").replace("'", "").replace("\\", "")
