"""The front matter of a SKILL.md: YAML of a stranger, read behind limits.

Only the events of the parser are used, and nothing is constructed: every scalar stays the text that it is (a
version `1.0`, a name `yes`), and there is nothing that could grow, since anchors, aliases and tags are
refused where they begin. Size, depth and number of nodes are bounded. What stands below is not looked at.

Many files have a colon in a description that should have been quoted. Where the YAML is broken, every entry
that cannot be read by itself is taken as one line of text, and the whole is tried once more.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import yaml

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.skill_document import FrontValue, document_from_front
from runlore.domain.text.safe_text import is_storable
from runlore.ports.skill_files import ReadSkill


def read_skill(text: str, *, folder: str = "") -> ReadSkill:
    """Read a skill of a folder; Invalid (`skill.document`, `skill.size`) where it is none."""
    front = front_matter_of(text)
    try:
        parsed = document_from_front(front.fields, front.body, folder)
    except Invalid as error:
        if not front.problem:
            raise
        # What is missing may stand in the line that is broken.
        sentence = f"{error.sentence}, and its front matter is not YAML: {front.problem}"
        raise Invalid(
            sentence, code="skill.document", hint="mend that line, or put its text into quotes"
        ) from None
    return ReadSkill(
        document=parsed.document,
        text=text,
        remarks=(*front.remarks, *parsed.remarks),
        provenance=parsed.provenance,
    )


FENCE = "---"
# Front matter that people write has a page at most.
MENDED_CHARS_MAX = 32_000
_BYTE_ORDER_MARK = "\ufeff"
_PROBLEM_CHARS_MAX = 200
_HINT = "write it as the Agent Skills specification says: front matter between two lines of `---`"
_BLOCK_STYLES = frozenset("|>")
_VALUES = (yaml.ScalarEvent, yaml.SequenceStartEvent, yaml.MappingStartEvent)
_ENTRY = re.compile(r"([A-Za-z0-9_.-]{1,64}):(?:[ \t]+|$)")
_BLOCK = re.compile(r"[|>][0-9+-]{0,3}\s*$")
_DEPTH_MAX = 3


@dataclass(frozen=True, kw_only=True)
class FrontMatter:
    """What stands at the top of a file, and the text below it, unchanged; `problem` is why it was mended."""

    fields: dict[str, FrontValue]
    body: str
    remarks: tuple[str, ...] = ()
    problem: str = ""


def decode_file(content: bytes) -> str:
    """The text of a file; Invalid (`skill.size`, `skill.document`) where it is too large or not a text."""
    if len(content) > limits.SKILL_FILE_BYTES_MAX:
        raise too_large("it", limits.SKILL_FILE_BYTES_MAX)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _document_error(
            f"it is not UTF-8 from byte {error.start:,} on", "save it as UTF-8 text"
        ) from None
    if "\0" in text:
        raise _document_error("it is not a text: it holds a NUL character", "save it as UTF-8 text")
    return text


def front_matter_of(text: str) -> FrontMatter:
    """Split a file and read its front matter; Invalid (`skill.size`, `skill.document`)."""
    if _is_longer(text, limits.SKILL_FILE_BYTES_MAX):
        raise too_large("it", limits.SKILL_FILE_BYTES_MAX)
    if not is_storable(text):
        raise _document_error("it holds a character that is no text", "save it as UTF-8 text")
    front, body = _split(text.removeprefix(_BYTE_ORDER_MARK))
    try:
        return FrontMatter(fields=_load_yaml(front), body=body)
    except yaml.YAMLError as error:
        problem = _problem(error)
    hint = "put the text of that line into quotes"
    if len(front) > MENDED_CHARS_MAX:
        raise _document_error(f"its front matter is not YAML: {problem}", hint)
    try:
        fields = _load_yaml("\n".join(mend(front.split("\n"), is_broken=_is_broken)))
    except yaml.YAMLError:
        raise _document_error(f"its front matter is not YAML: {problem}", hint) from None
    remark = "its front matter is not valid YAML; it was mended to be read"
    return FrontMatter(fields=fields, body=body, remarks=(remark,), problem=problem)


def is_fence(line: str) -> bool:
    return line.rstrip() == FENCE


def too_large(what: str, bytes_max: int) -> Invalid:
    return Invalid(
        f"{what} has more than {bytes_max:,} bytes",
        code="skill.size",
        hint="move a part of it to files beside it, and name them in the body",
    )


def _split(text: str) -> tuple[str, str]:
    """The front matter and what is below it; line ends inside the front matter become plain ones."""
    lines = _lines(text)
    first = next(lines, None)
    if first is None or not is_fence(text[: first[1]]):
        raise _document_error("it does not begin with front matter", _HINT)
    start = first[1]
    for begin, end in lines:
        is_last = is_fence(text[begin:end])
        # Characters are quickly counted at every line, bytes once.
        is_long = begin - start > limits.SKILL_FRONT_BYTES_MAX
        if is_long or (is_last and _is_longer(text[start:begin], limits.SKILL_FRONT_BYTES_MAX)):
            raise too_large("its front matter", limits.SKILL_FRONT_BYTES_MAX)
        if is_last:
            return text[start:begin].replace("\r\n", "\n"), text[end:]
    raise _document_error("its front matter does not end with a line of `---`", _HINT)


def _is_longer(text: str, bytes_max: int) -> bool:
    return len(text) > bytes_max or len(text.encode(errors="replace")) > bytes_max


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends, its line end included."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield begin, end
        begin = end


def _is_broken(front: str) -> bool:
    try:
        _load_yaml(front)
    except (yaml.YAMLError, Invalid):
        return True
    return False


def _load_yaml(front: str) -> dict[str, FrontValue]:
    """Read one document that is a map; yaml.YAMLError where it is no YAML, Invalid where it is refused."""
    loader = yaml.CSafeLoader(front)
    try:
        loader.get_event()
        if isinstance(loader.get_event(), yaml.StreamEndEvent):
            raise _document_error("its front matter is empty", _HINT)
        value = _Reader(loader).value(loader.get_event(), depth=0)
        loader.get_event()
        if not isinstance(loader.get_event(), yaml.StreamEndEvent):
            raise _document_error("its front matter holds more than one YAML document", _HINT)
    finally:
        loader.dispose()
    if not isinstance(value, dict):
        raise _document_error("its front matter is not a map of fields", _HINT)
    return value


class _Reader:
    """Makes texts, lists and maps of a parser's events, and counts them."""

    def __init__(self, loader: yaml.CSafeLoader) -> None:
        self._next = loader.get_event
        self._nodes = 0

    def value(self, event: yaml.Event | None, depth: int) -> FrontValue:
        self._nodes += 1
        if self._nodes > limits.SKILL_FRONT_NODES_MAX:
            raise _document_error(
                f"its front matter holds more than {limits.SKILL_FRONT_NODES_MAX:,} values", "make it shorter"
            )
        if depth > limits.SKILL_FRONT_DEPTH_MAX:
            raise _document_error(
                f"its front matter is nested more than {limits.SKILL_FRONT_DEPTH_MAX} deep", "make it flatter"
            )
        if not isinstance(event, _VALUES) or event.anchor is not None:
            raise _document_error("its front matter has an anchor or an alias", "write the value out")
        if event.tag is not None:
            raise _document_error(
                "its front matter has a tag", "remove what begins with `!`, and quote the text"
            )
        if isinstance(event, yaml.ScalarEvent):
            # A scalar as it is written. The line end behind a block is a part of the notation, not of the
            # text.
            if "\0" in event.value:
                raise _document_error("its front matter holds a NUL character", "remove it")
            return event.value.rstrip("\n") if event.style in _BLOCK_STYLES else event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(depth)
        return self._map(depth)

    def _list(self, depth: int) -> list[FrontValue]:
        values: list[FrontValue] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self.value(event, depth + 1))
        return values

    def _map(self, depth: int) -> dict[str, FrontValue]:
        values: dict[str, FrontValue] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self.value(event, depth + 1)
            if not isinstance(key, str):
                raise _document_error(
                    "its front matter has a key that is not a text", "name the field with a word"
                )
            value = self.value(self._next(), depth + 1)
            if values.setdefault(key, value) != value:
                raise _document_error(
                    f"its front matter says {key!r:.80} twice, and not the same", "remove one of the two"
                )
        return values


def _problem(error: yaml.YAMLError) -> str:
    """What the parser says, in a line, without the stranger's text."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{error.problem}, line {error.problem_mark.line + 2}"[:_PROBLEM_CHARS_MAX]
    return f"{getattr(error, 'reason', None) or 'it cannot be read'}"[:_PROBLEM_CHARS_MAX]


def _document_error(sentence: str, hint: str) -> Invalid:
    return Invalid(sentence, code="skill.document", hint=hint)


def mend(lines: Sequence[str], *, is_broken: Callable[[str], bool], depth: int = 0) -> Iterator[str]:
    """The lines of a map, its broken entries quoted. What cannot be mended is given back as it is."""
    for entry in _entries(lines):
        if not is_broken("\n".join(entry)):
            yield from entry
            continue
        key = _ENTRY.match(entry[0])
        if key is None:
            yield from entry
            continue
        value = entry[0][key.end() :]
        below = entry[1:]
        if value.strip() or not any(map(str.strip, below)) or depth >= _DEPTH_MAX:
            yield f"{key[1]}: {_quote(value, below)}"
            continue
        margin = min(len(line) - len(line.lstrip(" ")) for line in below if line.strip())
        yield entry[0]
        inner = [line[margin:] for line in below]
        yield from (" " * margin + line for line in mend(inner, is_broken=is_broken, depth=depth + 1))


def _entries(lines: Sequence[str]) -> Iterator[list[str]]:
    """Each key with the lines that belong to it: those that are empty or stand further in."""
    entry: list[str] = []
    for line in lines:
        if entry and line[:1] not in ("", " ", "\t", "#"):
            yield entry
            entry = []
        entry.append(line)
    if entry:
        yield entry


def _quote(value: str, below: Sequence[str]) -> str:
    """A value and its further lines as one text; of a block, the lines as they are."""
    first = [] if _BLOCK.match(value) else [value]
    text = " ".join(filter(None, (line.strip() for line in (*first, *below) if not line.startswith("#"))))
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return "'" + text.replace("'", "''") + "'"
