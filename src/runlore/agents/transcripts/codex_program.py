"""The tool calls inside a program text: late versions of Codex wrap commands in JavaScript that calls tools.

Only what can be read off the text is told: literals, constants that hold literals, pieces joined with `+`.
Nothing is run or guessed. A text that leads in circles is given up: its length bounds what it may cost.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from runlore.agents.transcripts.parsing import parse_json, text_of

JsValue: TypeAlias = "str | float | bool | list[JsValue] | dict[str, JsValue] | None"

PROGRAM_CHARS_MAX = 200_000
CALLS_MAX = 100
FAILURES_MAX = 1_000
_DEPTH_MAX = 16
_REGEX_CHARS_MAX = 1_000

_STOP = re.compile(
    r"""["'`]|//|/\*|/|\b(?:const|let|var)\s{1,20}([A-Za-z_$][\w$]{0,80})\s{0,20}=(?![=>])|"""
    r"""\btools\s{0,20}\.\s{0,20}([A-Za-z_][\w]{0,120})\s{0,20}\("""
)
_SPACE = re.compile(r"(?:\s{1,200}|//[^\n]{0,2000}|/\*)")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]{0,120}")
_NUMBER = re.compile(r"-?(?:\d[\d_]{0,30})(?:\.\d{0,30})?(?:[eE][+-]?\d{1,3})?")
# As JSON would write it; nothing of it is tried twice.
_DOUBLE = re.compile(r'"(?:[^"\\\n]++|\\[^\n])*+"')
_QUOTED_END = {quote: re.compile(rf"[\\{quote}\n]") for quote in "\"'"}
_TEMPLATE_END = re.compile(r"\\|`|\$\{")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_HALF = re.compile(r"[\ud800-\udfff]")
_JOIN = re.compile(r"\.join\s{0,20}\(")
# A slash behind one of these begins a regular expression; behind anything else it divides.
_BEFORE_REGEX = frozenset("(,=:[!&|?{};\n")


@dataclass(frozen=True, kw_only=True)
class ProgramCall:
    """One call of a tool: its name and what of its argument the text tells; None where that is computed."""

    name: str
    argument: JsValue


class _NotLiteral(Exception):
    """What stands here is no literal."""


class _CostExceeded(Exception):
    """The text has cost as much as its length allows."""


@dataclass
class _ExpressionParser:
    text: str
    at: int = 0
    steps_left: int = 0
    constants: dict[str, JsValue] = field(default_factory=dict)

    def value(self, depth: int = 0) -> JsValue:
        """A literal, or pieces joined with `+`; raises where it is anything else."""
        left = self._postfix(depth)
        while self._next() == "+" and self.text[self.at : self.at + 2] != "++":
            self.at += 1
            right = self._postfix(depth)
            if not isinstance(left, str) or not isinstance(right, str | float):
                raise _NotLiteral
            left += right if isinstance(right, str) else f"{right:g}"
        return left

    def _postfix(self, depth: int) -> JsValue:
        """One operand, and the texts of a list where they are joined."""
        found = self._operand(depth)
        if isinstance(found, list) and (join := _JOIN.match(self.text, self.at)):
            self.at = join.end()
            between = self.value(depth + 1) if self._next() != ")" else ","
            self._expect(")")
            if not isinstance(between, str) or not all(isinstance(item, str) for item in found):
                raise _NotLiteral
            return between.join(str(item) for item in found)
        return found

    def _operand(self, depth: int) -> JsValue:
        if depth > _DEPTH_MAX:
            raise _NotLiteral
        sign = self._next()
        if sign in "\"'":
            return self.read_quoted(sign)
        if sign == "`":
            return self.template(depth)
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._list(depth)
        if sign == "(":
            self.at += 1
            inner = self.value(depth + 1)
            self._expect(")")
            return inner
        return self._word()

    def _word(self) -> JsValue:
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return float(number[0].replace("_", ""))
        name = self._identifier()
        if name in ("true", "false"):
            return name == "true"
        if name in ("null", "undefined"):
            return None
        if name == "String" and self.text.startswith(".raw`", self.at):
            self.at += 4
            return self._raw()
        follows = self.text[self.at : self.at + 1]
        if name not in self.constants or follows in ("(", ".", "["):
            raise _NotLiteral
        return self.constants[name]

    def _identifier(self) -> str:
        found = _IDENTIFIER.match(self.text, self.at)
        if found is None:
            raise _NotLiteral
        self.at = found.end()
        return found[0]

    def read_quoted(self, quote: str) -> str:
        if quote == '"' and (found := _DOUBLE.match(self.text, self.at)) is not None:
            raw = found[0]
            try:
                plain = raw[1:-1] if "\\" not in raw else text_of(parse_json(raw.encode(errors="replace")))
            except ValueError:
                # An escape that JSON does not have.
                plain = None
            if plain is not None:
                self.at = found.end()
                return plain
        self.at += 1
        parts: list[str] = []
        while True:
            stop = _QUOTED_END[quote].search(self.text, self.at)
            if stop is None:
                raise _NotLiteral
            parts.append(self.text[self.at : stop.start()])
            self.at = stop.end()
            if stop[0] == quote:
                return _join_surrogates("".join(parts))
            if stop[0] == "\n":
                raise _NotLiteral
            parts.append(self._escape())

    def template(self, depth: int = 0) -> str:
        """The text of a template; a place in it is filled where it is known, else it stays as written."""
        if depth > _DEPTH_MAX:
            raise _NotLiteral
        self.at += 1
        parts: list[str] = []
        while True:
            stop = _TEMPLATE_END.search(self.text, self.at)
            if stop is None:
                raise _NotLiteral
            parts.append(self.text[self.at : stop.start()])
            self.at = stop.end()
            if stop[0] == "`":
                return _join_surrogates("".join(parts))
            parts.append(self._escape() if stop[0] == "\\" else self._place(stop.start(), depth))

    def _place(self, start: int, depth: int) -> str:
        try:
            found = self.value(depth + 1)
            self._expect("}")
        except _NotLiteral:
            end = self.text.find("}", self.at)
            if end < 0:
                raise
            self.at = end + 1
            return self.text[start : self.at]
        return found if isinstance(found, str) else self.text[start : self.at]

    def _raw(self) -> str:
        end = self.text.find("`", self.at + 1)
        if end < 0:
            raise _NotLiteral
        raw = self.text[self.at + 1 : end]
        self.at = end + 1
        return raw

    def _escape(self) -> str:
        self.spend(1)
        sign = self.text[self.at : self.at + 1]
        self.at += 1
        if sign == "x":
            return self._code(2)
        if sign == "u" and self.text[self.at : self.at + 1] == "{":
            end = self.text.find("}", self.at, self.at + 10)
            digits = self.text[self.at + 1 : end] if end > 0 else ""
            self.at = end + 1 if end > 0 else self.at
            return _character(digits)
        if sign == "u":
            return self._code(4)
        return _ESCAPES.get(sign, sign)

    def _code(self, size: int) -> str:
        digits = self.text[self.at : self.at + size]
        self.at += size
        return _character(digits)

    def _object(self, depth: int) -> JsValue:
        self.at += 1
        found: dict[str, JsValue] = {}
        while (sign := self._next()) != "}":
            if sign == ",":
                self.at += 1
                continue
            key = self.read_quoted(sign) if sign in "\"'" else self._identifier()
            if self._next() == ":":
                self.at += 1
                self._set(found, key, depth)
            else:
                found[key] = self.constants.get(key)
        self.at += 1
        return found

    def _set(self, found: dict[str, JsValue], key: str, depth: int) -> None:
        """One value of an object; one that is computed is passed over, so that the others are told."""
        try:
            found[key] = self.value(depth + 1)
            if self._next() in ",}":
                return
        except _NotLiteral:
            pass
        found[key] = None
        self._pass_expression(depth)

    def _list(self, depth: int) -> JsValue:
        self.at += 1
        found: list[JsValue] = []
        while (sign := self._next()) != "]":
            if sign == ",":
                self.at += 1
                continue
            found.append(self.value(depth + 1))
        self.at += 1
        return found

    def _pass_expression(self, depth: int) -> None:
        """To the comma or the bracket that ends an expression, over brackets and literals inside it."""
        open_brackets = 0
        while self.at < len(self.text):
            sign = self._next()
            if not open_brackets and sign in ",}])":
                return
            if sign in "\"'`":
                self.read_quoted(sign) if sign != "`" else self.template(depth + 1)
                continue
            open_brackets += (sign in "([{") - (sign in ")]}")
            self.at += 1
        raise _NotLiteral

    def _next(self) -> str:
        """The next sign that is neither space nor comment; where there is none, the call was cut off."""
        self.spend(1)
        while space := _SPACE.match(self.text, self.at):
            self.at = space.end()
            if space[0] == "/*":
                end = self.text.find("*/", self.at)
                self.at = len(self.text) if end < 0 else end + 2
        if self.at >= len(self.text):
            raise _NotLiteral
        return self.text[self.at]

    def spend(self, steps: int) -> None:
        self.steps_left -= steps
        if self.steps_left < 0:
            raise _CostExceeded

    def _expect(self, sign: str) -> None:
        if self._next() != sign:
            raise _NotLiteral
        self.at += 1


def program_calls(text: str) -> tuple[ProgramCall, ...]:
    """The calls of tools that stand in a program text, in its order; none where it is too long to be one."""
    if len(text) > PROGRAM_CHARS_MAX or "tools" not in text:
        return ()
    reader = _ExpressionParser(text, steps_left=4 * len(text) + 1_000)
    calls: list[ProgramCall] = []
    failures = 0
    while len(calls) < CALLS_MAX and failures < FAILURES_MAX and (stop := _STOP.search(text, reader.at)):
        reader.at = stop.end()
        try:
            _read(reader, stop, calls)
        except _NotLiteral:
            failures += 1
            reader.at = max(reader.at, stop.end())
        except _CostExceeded:
            break
    return tuple(calls)


def argument_of(call: ProgramCall) -> Mapping[str, JsValue]:
    if isinstance(call.argument, dict):
        return {key: value for key, value in call.argument.items() if value is not None}
    return {"input": call.argument} if isinstance(call.argument, str) else {}


def _read(reader: _ExpressionParser, stop: re.Match[str], calls: list[ProgramCall]) -> None:
    sign = stop[0]
    if stop[2]:
        calls.append(ProgramCall(name=stop[2], argument=_try_value(reader)))
    elif stop[1]:
        reader.constants.pop(stop[1], None)
        start = reader.at
        if (found := _try_value(reader)) is not None:
            reader.constants[stop[1]] = found
        # What computes the value may itself call tools.
        reader.at = start
    elif sign in "\"'`":
        reader.at = stop.start()
        reader.template() if sign == "`" else reader.read_quoted(sign)
    elif sign == "//":
        reader.at = _behind(reader.text, "\n", reader.at)
    elif sign == "/*":
        reader.at = _behind(reader.text, "*/", reader.at)
    elif _begins_regex(reader.text, stop.start()):
        reader.at = _regex_end(reader.text, stop.end())
        reader.spend(max(_REGEX_CHARS_MAX if reader.at == stop.end() else 0, reader.at - stop.end()))


def _try_value(reader: _ExpressionParser) -> JsValue:
    """The value at this place, or None where it is computed; then reading goes on where it began."""
    start = reader.at
    try:
        return reader.value()
    except _NotLiteral:
        reader.at = start
        return None


def _behind(text: str, mark: str, at: int) -> int:
    end = text.find(mark, at)
    return len(text) if end < 0 else end + len(mark)


def _begins_regex(text: str, at: int) -> bool:
    before = text[max(0, at - 40) : at].rstrip(" \t")
    return not before or before[-1] in _BEFORE_REGEX or before.endswith("return")


def _regex_end(text: str, at: int) -> int:
    is_class = False
    for place in range(at, min(len(text), at + _REGEX_CHARS_MAX)):
        sign = text[place]
        if sign == "\n":
            return at
        if sign == "[":
            is_class = True
        elif sign == "]":
            is_class = False
        elif sign == "/" and not is_class and text[place - 1] != "\\":
            return place + 1
    return at


def _character(digits: str) -> str:
    try:
        return chr(int(digits, 16))
    except (ValueError, OverflowError):
        return ""


def _join_surrogates(text: str) -> str:
    """The text with the halves of characters that were escaped one by one put together."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
