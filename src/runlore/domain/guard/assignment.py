"""A credential's name, something that joins, and a value: in code, configuration, headers and prose.

The name decides how much the value has to show: after `password =` almost anything counts, after
`token:` the value has to look random, after the name of a service it has to look random and long.
Values that are evidently something else, such as templates, references and types, never count.
"""

from runlore.domain.guard.finding import ASSIGNMENT, SecretFinding
from runlore.domain.guard.names import Promise, form_of, promise_of, words_of
from runlore.domain.guard.patterns import compile_pattern, matches
from runlore.domain.guard.randomness import looks_random
from runlore.domain.guard.values import FIRM, Join, Value, is_secret, take_value, whole_end
from runlore.domain.guard.view import View
from runlore.domain.lazy import dataclass

NAME_CHARS_MAX = 64
CONTEXT_CHARS_MAX = 32
CONTEXT_WORDS_MAX = 3
JOINT_CHARS_MAX = 160
COMPARED_CHARS_MAX = 160
CLOSING_CHARS_MAX = 32
BLOB_CHARS_MIN = 20

# Maps the bytes of identifiers to one letter, so that a run of them can be stripped at once.
IDENTIFIER = bytes(
    105 if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "_$.-") else 0 for b in range(256)
)
# What may follow a name directly, and what may follow it after one space.
NEXT = frozenset(b"\"'`)]}*=:><|,\\?!+-[ \t\n(")
NEXT_AFTER_SPACE = frozenset(b"=:\"'`<>|?!+.-([*sS\\@{ \t")
HYPHEN = 0x2D
PROSE_STARTS = frozenset(
    {"is ", "is:", "was", "are", "to ", "for", "of ", "on ", "equ", "as ", "in ", "at ", "-> "}
)

CLOSER = rb"(?:\[[^\]\n]{0,12}\])?[\\\"'`)\]}*]{0,6}"
SCHEME = rb"(?:(?i:bearer|basic|token|digest|apikey|api-key|api-token|bot|jwt|oauth|key)[ \t]{1,3})?"
OPENER = rb"((?:[bfr$@(\[{]{0,3}[\\\"'`]{1,4}|\*\*)?" + SCHEME + rb"[\\\"'`]{0,4})"
ALTERNATIVES = {
    Join.ASSIGN: (
        CLOSER + rb"[ \t]{0,8}(?:(?::[ \t]?)?(?:string|String|str)[ \t]{0,4})?"
        rb"(?::{1,3}=|[!=]==?|[?+.]=|=>|=|\|\|=?)[ \t]{0,8}"
    ),
    Join.ATTRIBUTE: (
        rb"[\"'][ \t]{1,4}value[ \t]?=[ \t]?|[\"'],\s{0,24}[\"']?value[\"']?[ \t]?[:=][ \t]?"
        rb"|[ \t]{0,4}\n[ \t]{0,24}value[ \t]?:[ \t]?"
    ),
    Join.BELOW: CLOSER + rb"[ \t]?:(?:\*\*|__)?[ \t]{0,4}\r?\n\s{0,16}",
    Join.COLON: CLOSER + rb"[ \t]{0,8}:[ \t]{0,8}(?:\*\*|__)?[ \t]{0,8}(?:[|>][-+]?\n[ \t]{1,24})?",
    Join.ELEMENT: rb">\s{0,24}",
    Join.ARGUMENT: rb"[\"'][ \t]?,\s{0,8}",
    Join.CELL: rb"[ \t*`]{1,24}\|[ \t]{1,24}",
    Join.PROSE: (
        CLOSER + rb"(?:[ \t](?:for|of|on|in|at)[ \t][\w.@/' -]{1,40}?|[ \t]{0,2}\([^)\n]{1,40}\))?"
        rb"(?:[ \t]{1,2}(?:is|was|are|equals|to|as|->)(?:[ \t](?:now|set[ \t]to))?:?[ \t]{1,2}"
        rb"|[ \t]?[:=][ \t]{1,2})"
    ),
    Join.SPACE: rb"[ \t]{1,4}",
}
JOINT = rb"(?:" + b"|".join(b"(" + pattern + b")" for pattern in ALTERNATIVES.values()) + b")" + OPENER
JOINS = tuple(ALTERNATIVES)
OPENER_GROUP = len(JOINS) + 1
COMPARED = rb"([\"'])[^\"'\n]{4,128}[\"'][ \t]{0,2}[!=]==?[ \t]{0,2}$"


@dataclass(frozen=True, kw_only=True, slots=True)
class AssignedName:
    """A name in the text: what it promises, where it stands, how it is written.

    "Pass" is a verb and the result of a test as well, so `is_verb` wants a plain assignment.
    """

    promise: Promise
    form: bytes | None
    start: int
    end: int
    is_prose: bool
    is_flag: bool
    is_verb: bool


def find_assignment(view: View, start: int, end: int) -> SecretFinding | None:
    """The secret given to the name that has a known word from `start` to `end`."""
    begin, stop = _identifier_start(view.data, start), identifier_end(view.data, end)
    compared = _may_be_compared(view.data, begin)
    if not compared and view.data[begin] != HYPHEN and not _may_join(view, stop):
        return None
    name = _name_at(view, begin, stop)
    if name.promise is Promise.NOTHING:
        return None
    value = _value_behind(view, name) or (_value_before(view, name) if compared else None)
    if value is None or not _fits(name, value):
        return None
    if not is_secret(value, name.promise, prose_name=name.is_prose):
        return None
    return SecretFinding(ASSIGNMENT, value.start, whole_end(view.data, value))


def _fits(name: AssignedName, value: Value) -> bool:
    """Whether a value can belong to this name at all."""
    if name.is_verb and value.join not in FIRM and not (value.quoted and value.join is Join.COLON):
        return False
    return name.form is None or name.promise is Promise.PASSWORD or matches(name.form, value.data)


def identifier_end(data: bytes, end: int) -> int:
    """Where the identifier ends that has a known word up to `end`."""
    after = data[end : end + NAME_CHARS_MAX]
    size = len(after) - len(after.translate(IDENTIFIER).lstrip(b"i"))
    return end + len(after[:size].rstrip(b".-"))


def _identifier_start(data: bytes, start: int) -> int:
    before = data[max(0, start - NAME_CHARS_MAX) : start].translate(IDENTIFIER)
    return start - (len(before) - len(before.rstrip(b"i")))


def _may_join(view: View, stop: int) -> bool:
    """A cheap look at what follows a name; most names in prose end here."""
    following = view.data[stop : stop + 2]
    if not following or following[0] not in NEXT:
        return False
    if following[0] != 0x20 or following[1:] == b"":
        return True
    return following[1] in NEXT_AFTER_SPACE or view.lower[stop + 1 : stop + 4] in PROSE_STARTS


def _may_be_compared(data: bytes, begin: int) -> bool:
    return data[max(0, begin - 2) : begin].rstrip().endswith(b"=")


def _name_at(view: View, begin: int, stop: int) -> AssignedName:
    identifier = view.text[begin:stop]
    words = words_of(identifier)
    context = _words_before(view.lower, begin) if len(words) == 1 else ()
    return AssignedName(
        promise=Promise.NOTHING if _is_no_name(identifier) else promise_of(words, context),
        form=form_of(words),
        start=begin,
        end=stop,
        is_prose=len(words) == 1 and bool(context),
        is_flag=identifier.startswith("-"),
        is_verb=words == ("pass",),
    )


def _is_no_name(identifier: str) -> bool:
    """Whether an identifier is the beginning of a sentence or a piece of encoded data."""
    return identifier == "Pass" or looks_random(identifier, BLOB_CHARS_MIN)


def _words_before(lower: str, begin: int) -> tuple[str, ...]:
    """The words in front of a name in prose, as in "personal access token"."""
    before = lower[max(0, begin - CONTEXT_CHARS_MAX) : begin]
    if not before.endswith(" "):
        return ()
    words: list[str] = []
    for word in reversed(before[:-1].split(" ")[-CONTEXT_WORDS_MAX:]):
        if not word.isalpha():
            break
        words.insert(0, word)
    return tuple(words)


def _value_behind(view: View, name: AssignedName) -> Value | None:
    joint = compile_pattern(JOINT).match(view.data, name.end, name.end + JOINT_CHARS_MAX)
    if joint is None:
        return None
    join = next(join for group, join in enumerate(JOINS, start=1) if joint.start(group) >= 0)
    opener = (joint.start(OPENER_GROUP), joint.end(OPENER_GROUP))
    value = take_value(view, opener, join, tight=view.data[name.end : opener[0]] == b"=")
    return value if value is not None and _is_closed(view.data, name, value) else None


def _is_closed(data: bytes, name: AssignedName, value: Value) -> bool:
    """Whether a value ends the way its join demands: an element with a tag, a cell with a bar."""
    if value.join is Join.ELEMENT:
        return data[value.end : value.end + CLOSING_CHARS_MAX].lstrip().startswith(b"</")
    if value.join is Join.CELL:
        return data[value.end : value.end + CLOSING_CHARS_MAX].lstrip(b" \t*`").startswith(b"|")
    if value.join is Join.SPACE:
        return value.quoted or name.is_flag
    return value.quoted or value.join is not Join.ARGUMENT


def _value_before(view: View, name: AssignedName) -> Value | None:
    """The value in `"value" == name`."""
    start = max(0, name.start - COMPARED_CHARS_MAX)
    match = compile_pattern(COMPARED).search(view.data[start : name.start])
    return take_value(view, (start + match.start(1), start + match.end(1)), Join.ASSIGN) if match else None
