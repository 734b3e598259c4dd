"""A credential's name, something that joins, and a value: in code, configuration, headers and prose.

The name decides how much the value has to show: after `password =` almost anything counts, after
`token:` the value has to look random, after the name of a service it has to look random and long.
Values that are evidently something else, such as templates, references and types, never count.

Secrets told by the head of their column: tables of Markdown, comma-separated values, rows of SQL.
"""

from collections.abc import Iterator
from functools import lru_cache

from runlore.domain.guard.finding import ASSIGNMENT, SecretFinding
from runlore.domain.guard.patterns import compile_pattern, matches
from runlore.domain.guard.values import (
    FIRM,
    RANDOM_CHARS_MIN,
    Join,
    Value,
    is_hex,
    is_made_up,
    is_odd,
    is_secret,
    looks_random,
    take_value,
    whole_end,
)
from runlore.domain.guard.view import View
from runlore.domain.guard.vocabulary import (
    DIGEST,
    GETTERS,
    Promise,
    form_of,
    names_digest,
    promise_of,
    words_in,
    words_of,
)
from runlore.domain.lazy import dataclass

NAME_CHARS_MAX = 64
CONTEXT_CHARS_MAX = 32
CONTEXT_WORDS_MAX = 3
JOINT_CHARS_MAX = 160
BESIDE_CHARS_MAX = 100
DIGITS = b"0123456789"
BESIDE = rb"[\s\"'`{:(]([\w!#$%^&*+?~.-]{8,40})(?:$|[\s\"'`,;\\|)}<])"
COMPARED_CHARS_MAX = 160
CLOSING_CHARS_MAX = 32
USER_CHARS_MAX = 48
RUN_CHARS_MAX = 96
LOOK_STEPS = 1
PLACE_STEPS = 3
NAME_STEPS = 3
STEPS = 24
CHARS_A_STEP_OF_NAME = 2
CHARS_A_STEP_OF_VALUE = 4
"""What it costs to look at a name, to judge a value, and to read a name and a value."""
RUNS = bytes(byte if byte not in b"\"'`=:,;<>(){}[]|" else 32 for byte in range(256))
SETTERS = ("setenv ", "env ", "set ", "setx ", "arg ", " -gx ", " -x ")
LOGINS = words_in("ftp db database smtp mail email wifi router server login sudo root admin api user app ssh")
"""What has a password: behind one of these words "pass" is no verb."""
BLOB_CHARS_MIN = 20
BARE_CHARS_MIN = 6
BARE_TOKEN_CHARS_MIN = 20
SETTING_ENDS = frozenset({b"_key", b"-key", b".key"})
FINGERPRINT_CHARS = 40
# Names that differ in a number promise the same.
SAME_DIGIT = str.maketrans("123456789", "0" * 9)

# Maps the bytes of identifiers to one letter, so that a run of them can be stripped at once.
IDENTIFIER = bytes(
    105 if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "_$.-") else 0 for b in range(256)
)
# What may follow a name directly, and what may follow it after one space.
NEXT = frozenset(b"\"'`)]}*=:><|,\\?!+-[ \t\n(\xff")
NEXT_AFTER_SPACE = frozenset(b"=:\"'`<>|?!+.-([*sS\\@{ \t")
HYPHEN = 0x2D
PROSE_STARTS = words_in(
    "is was are to for of on equals as in at -> ist lautet est es è é jest är er это от для de du del für"
    " för voor van von vom del della do da dos na no zu zum pour para per till → – —"
)
COPULA = (
    rb"(?:is|was|are|equals|to|as|->|ist|lautet|est|es|\xe8|\xe9|jest|\xe4r|er"
    rb"|(?:\xff{1,16}[ \t]){0,3}\xff{1,3})"
    rb"(?:[ \t](?:now|set[ \t]to))?:?[ \t]{1,2}"
)
"""What says in prose that a name has a value; a script that has no bytes here is one of fillers."""

CLOSER = rb"(?:\[[^\]\n]{0,12}\])?[\\\"'`)\]}*]{0,6}"
SCHEME = rb"(?:(?i:bearer|basic|token|digest|apikey|api-key|api-token|bot|jwt|oauth|key)[ \t]{1,3})?"
OPENER = rb"((?:[bfrNLu$@(\[{]{0,3}[\\\"'`]{1,4}|\*\*)?" + SCHEME + rb"[\\\"'`]{0,4})"
ALTERNATIVES = {
    Join.ASSIGN: (
        CLOSER + rb"[ \t]{0,8}(?:(?:(?::[ \t]?|[Aa]s[ \t])(?:&'?[a-z]*[ \t]?)?[\w<>\[\]?.|]{1,32}[ \t]"
        rb"|:?[ \t]?(?:string|str)|\{[ \t]?get;[^{}\n]{0,24}\})[ \t]{0,4})?"
        rb"(?::{1,3}=|[!=]==?|[?+.]=|=>|=|<-|\|\|=?)[ \t]{0,8}"
    ),
    Join.ATTRIBUTE: (
        rb"[\"'][ \t]{1,4}value[ \t]?=[ \t]?|[\"'],\s{0,24}[\"']?value[\"']?[ \t]?[:=][ \t]?"
        rb"|[ \t]{0,4}\n[ \t]{0,24}value[ \t]?:[ \t]?"
        rb"|\"[ \t]?\{(?:[^{}]{0,80}\s|\s{0,24})default[ \t]?=[ \t]?"
    ),
    Join.BELOW: CLOSER + rb"(?:[ \t][\w ,'-]{1,60})?[ \t]?:(?:\*\*|__)?[ \t]{0,4}\r?\n\s{0,16}",
    Join.LISTED: rb"[ \t]{0,4}\n[ \t]{0,12}-[ \t]{1,3}",
    Join.HEADED: rb"[ \t]{0,4}\n[ \t]{0,8}",
    Join.COLON: CLOSER + rb"[ \t]{0,8}:[ \t]{0,8}(?:\*\*|__)?[ \t]{0,8}(?:[|>][-+]?\n[ \t]{1,24})?",
    Join.ELEMENT: (
        rb"(?:[\"']|[ \t][\w-]{1,24}=\"[^\"\n]{0,24}\")?(?:</(?i:key|t[dh]|dt|b|strong))?>"
        rb"\s{0,24}(?:<(?i:value|string|td|dd|code)[^<>\n]{0,40}>)?"
    ),
    Join.CALL: rb"\([ \t]{0,4}",
    Join.ARGUMENT: rb"[\"'][ \t]?,\s{0,8}",
    Join.CELL: rb"[ \t*`]{1,24}\|[ \t]{1,24}",
    Join.PROSE: (
        CLOSER
        + rb"(?:[ \t](?:for|of|on|in|at|d[eoau]|de[ls]|della|v[oa]n|vom|zu|zum|f\xfcr|pour|para|per|till?|na)"
        rb"[ \t][\w.@/' -]{1,40}?|[ \t]{0,2}\([^)\n]{1,40}\))?"
        rb"(?:[ \t]{1,2}" + COPULA + rb"|[ \t]?[:=][ \t]{1,2}|\xff{1,4}[ \t]{0,2})"
    ),
    Join.SPACE: rb"[ \t]{1,4}(?:--?[a-z][a-z-]{0,16}[ \t]{1,4}|\d[ \t]{1,2})?",
}
JOINT = rb"(?:" + b"|".join(b"(" + pattern + b")" for pattern in ALTERNATIVES.values()) + b")" + OPENER
JOINS = tuple(ALTERNATIVES)
OPENER_GROUP = len(JOINS) + 1
WRAPPER = rb"[&*]?[\w.:\[\]<>]{1,40}\([ \t]{0,4}(?:new[ \t])?([bfr]?[\"'`])"
COMPARED = rb"([\"'])[^\"'\n]{4,128}[\"'][ \t]{0,2}[!=]==?[ \t]{0,2}$"


@dataclass(frozen=True, kw_only=True, slots=True)
class AssignedName:
    """A name in the text: what it promises and how it is written.

    "Pass" is a verb and the result of a test as well, so `is_verb` wants a plain assignment.
    """

    promise: Promise
    form: bytes | None
    is_prose: bool
    is_verb: bool
    is_digest: bool
    is_getter: bool


def find_assignment(view: View, start: int, end: int) -> SecretFinding | None:
    """The secret given to the name that has a known word from `start` to `end`, or beside it."""
    begin, stop = _identifier_start(view.data, start), identifier_end(view.data, end)
    return _find_given(view, begin, stop) or _find_beside(view, begin, stop)


def _find_beside(view: View, begin: int, stop: int) -> SecretFinding | None:
    """What nobody writes but as a password, in the line that speaks of one."""
    line = b"\n".join(view.data[stop : stop + BESIDE_CHARS_MAX].split(b"\n", 3)[:3])
    if len(line.translate(None, DIGITS)) == len(line):
        return None
    identifier = view.text[begin:stop]
    name = _read_name(identifier.translate(SAME_DIGIT), ())
    if name.promise is not Promise.PASSWORD or name.is_verb or _is_no_name(identifier):
        return None
    view.effort.left -= STEPS
    for match in compile_pattern(BESIDE).finditer(line):
        at, end = stop + match.start(1), stop + match.end(1)
        if is_odd(view.text[at:end]):
            return SecretFinding(ASSIGNMENT, at, end)
    return None


def _find_given(view: View, begin: int, stop: int) -> SecretFinding | None:
    compared = _may_be_compared(view.data, begin)
    # As on a command line, where a space joins them.
    is_flag = view.data[begin] == HYPHEN or view.lower[max(0, begin - 8) : begin].endswith(SETTERS)
    if not compared and not is_flag and not _may_join(view, stop):
        return None
    identifier = view.text[begin:stop]
    view.effort.left -= NAME_STEPS + len(identifier) // CHARS_A_STEP_OF_NAME
    name = _read_name(
        identifier.translate(SAME_DIGIT), () if identifier[:1] == "$" else _words_before(view.lower, begin)
    )
    if name.promise is Promise.NOTHING and view.data[begin - 1 : begin] == b"<":
        name = _read_name(identifier.lower().translate(SAME_DIGIT), ())
    if name.promise is Promise.NOTHING or (
        name.promise <= Promise.KEY and not _has_run(view.data, begin, stop)
    ):
        return None
    if _is_no_name(identifier):
        view.effort.left -= STEPS
        return None
    view.effort.left -= STEPS
    value = _value_behind(view, stop, name.promise, is_flag=is_flag) or (
        _value_before(view, begin) if compared else None
    )
    if value is None or not (_fits(name, value) or _follows_user(view, begin, value)):
        return None
    view.effort.left -= len(value.text) // CHARS_A_STEP_OF_VALUE
    if not is_secret(value, name.promise, prose_name=name.is_prose):
        return None
    return SecretFinding(ASSIGNMENT, value.start, whole_end(view.data, value))


def _has_run(data: bytes, begin: int, stop: int) -> bool:
    """Whether anything near a name is long enough to be a secret by itself."""
    around = data[max(0, begin - RUN_CHARS_MAX) : begin] + b" " + data[stop : stop + RUN_CHARS_MAX]
    return any(len(run) >= RANDOM_CHARS_MIN[Promise.SERVICE] for run in around.translate(RUNS).split())


def _fits(name: AssignedName, value: Value) -> bool:
    if value.join is Join.CALL and name.is_getter:
        return False
    if name.is_verb and value.join not in FIRM and not (value.quoted and value.join is Join.COLON):
        return False
    may_be_digest = name.is_digest or value.join is Join.CALL
    if name.promise is Promise.SERVICE and may_be_digest and matches(DIGEST, value.data):
        return False
    return name.form is None or name.promise is Promise.PASSWORD or matches(name.form, value.data)


def _follows_user(view: View, begin: int, value: Value) -> bool:
    """Whether "pass" stands behind a user's name, as in `user: x pass: y`."""
    before = view.lower[max(0, begin - USER_CHARS_MAX) : begin]
    is_given = is_made_up(value.text) or looks_random(value.text, RANDOM_CHARS_MIN[Promise.PASSWORD])
    return value.join is Join.COLON and is_given and ("user" in before or "login" in before)


def identifier_end(data: bytes, end: int) -> int:
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
    if following[1] in NEXT_AFTER_SPACE:
        return True
    word = view.lower[stop + 1 : stop + RUN_CHARS_MAX].split(" ", 1)[0].rstrip(".,:;!?)")
    return word in PROSE_STARTS or (len(word) >= BARE_CHARS_MIN and not word.isalpha())


def _may_be_compared(data: bytes, begin: int) -> bool:
    return data[max(0, begin - 2) : begin].rstrip().endswith(b"=")


@lru_cache(maxsize=4096)
def _read_name(identifier: str, before: tuple[str, ...]) -> AssignedName:
    words = words_of(identifier)
    context = before if len(words) == 1 else ()
    return AssignedName(
        promise=promise_of(words, context),
        form=form_of(words),
        is_prose=len(words) == 1 and bool(context),
        is_verb=words == ("pass",) and LOGINS.isdisjoint(before[-1:]),
        is_digest=names_digest(words),
        is_getter=words[:1] != () and words[0] in GETTERS,
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


def _value_behind(view: View, stop: int, promise: Promise, *, is_flag: bool) -> Value | None:
    joint = compile_pattern(JOINT).match(view.data, stop, stop + JOINT_CHARS_MAX)
    if joint is None:
        return None
    join = next(join for group, join in enumerate(JOINS, start=1) if joint.start(group) >= 0)
    opener = (joint.start(OPENER_GROUP), joint.end(OPENER_GROUP))
    wrapper = (
        compile_pattern(WRAPPER).match(view.data, joint.end(), stop + JOINT_CHARS_MAX)
        if join in {Join.ASSIGN, Join.COLON} and opener[0] == opener[1]
        else None
    )
    if wrapper is not None:
        join, opener = Join.WRAPPED, (wrapper.start(1), wrapper.end(1))
    value = take_value(view, opener, join, tight=view.data[stop : opener[0]] == b"=")
    if value is None or not _is_closed(view.data, value):
        return None
    if join is Join.LISTED or (join is Join.SPACE and not value.quoted):
        is_setting = value.alone and view.data[stop - 4 : stop].lower() in SETTING_ENDS
        return value if is_flag or _speaks_for_itself(value.text, promise, is_setting=is_setting) else None
    return value


def _speaks_for_itself(text: str, promise: Promise, *, is_setting: bool) -> bool:
    """Whether a value that a mere space joins to its name is one, and not the next word."""
    if promise is Promise.PASSWORD:
        return is_made_up(text) or looks_random(text, BARE_TOKEN_CHARS_MIN)
    # A fingerprint of a public key stands behind its name as well.
    is_fingerprint = len(text) == FINGERPRINT_CHARS and is_hex(text)
    return (
        (promise >= Promise.CREDENTIAL or is_setting)
        and looks_random(text, BARE_TOKEN_CHARS_MIN)
        and not is_fingerprint
    )


def _is_closed(data: bytes, value: Value) -> bool:
    """Whether a value ends the way its join demands: an element with a tag, a cell with a bar."""
    if value.join is Join.ELEMENT:
        return data[value.end : value.end + CLOSING_CHARS_MAX].lstrip(b" \t\r\n!?*}").startswith(b"</")
    if value.join is Join.CELL:
        return data[value.end : value.end + CLOSING_CHARS_MAX].lstrip(b" \t*`").startswith(b"|")
    return value.quoted or value.join not in {Join.ARGUMENT, Join.CALL, Join.WRAPPED}


def _value_before(view: View, begin: int) -> Value | None:
    start = max(0, begin - COMPARED_CHARS_MAX)
    match = compile_pattern(COMPARED).search(view.data[start:begin])
    return take_value(view, (start + match.start(1), start + match.end(1)), Join.ASSIGN) if match else None


COLUMN_HEADS = ("password", "passwd", "passwort", "secret", "token", "api key", "api_key", "apikey")
ROW_CHARS_MAX = 400
ROWS_MAX = 200
STEPS_A_HEAD = 6
CELL_CHARS_MIN = 10
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
    if not set(value).isdisjoint(" (){}") or not (is_made_up(value) or looks_random(value, CELL_CHARS_MIN)):
        return
    begin += len(cell) - len(cell.lstrip(AROUND_CELL))
    yield SecretFinding("column", begin, begin + len(value))
