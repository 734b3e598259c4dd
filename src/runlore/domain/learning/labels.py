"""Labels: what a user says outright is to be remembered, as `Fact: ...`, read from a request without a model.

A label opens a line or a sentence of a request; `In fact: no`, a word in a code span, in quotes or in a
pasted block is none. It is the user's own word where it stands with its text before anything pasted; behind
that nobody can tell who wrote it, for what is pasted may look as if it had ended. What follows a label is its
text: to the next label, the end of its sentence or of its line. A sentence or a line that plainly goes on
with it is part of it, for half a statement may say the opposite; the task that the user goes on with is not.
"""

from collections.abc import Iterator, Sequence
from functools import cache

import regex

from runlore.domain.claims.clauses import is_command
from runlore.domain.claims.support_words import ANAPHORS, LINKS, SPEAKERS, SUBJECT_PRONOUNS
from runlore.domain.claims.wording import fold_wording, read_words
from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind
from runlore.domain.scope import ScopeKind
from runlore.domain.text.inline_spans import Span, code_spans, mask_spans, quotations
from runlore.domain.text.pasted import find_pasted, without

LABELS_MAX = 64
LABEL_CONFIDENCE = 98


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAMES = {
    Kind.FACT: sorted(_words("fact fait fakt tatsache hecho dato fatto fato feit 事实 事実")),
    Kind.PREFERENCE: sorted(
        _words(
            "preference préférence präferenz vorliebe preferencia preferenza preferência voorkeur 偏好 好み"
        )
    ),
    Kind.DECISION: sorted(
        _words("decision décision entscheidung decisión decisione decisão besluit 决定 決定")
    ),
}
"""The labels, in English and in some languages near it."""


TASK_WORDS = _words(
    "please now then next can could would will reply respond answer thanks thank bitte jetzt dann danke"
    " antworte merci maintenant ensuite réponds ahora luego responde gracias"
    " remember merk merke retiens souviens-toi recuerda"
)
"""What a line begins with that goes on with the task: it does not go on with what was labelled above it."""

REFERRING = _words(
    "but however only except unless otherwise although though yet still also and or because so since it its"
    " this that these those they their he she there which both neither nor mais toutefois sauf il elle ils"
    " elles cela ceci aber jedoch nur außer sonst es er sie dies diese pero salvo solo excepto esto eso"
)
JOINING = _words("and also so then plus und et y")
"""Those of them that may also stand before a new statement or an order."""

REFERRING_SIGNS = tuple("但它这那其而除")
"""What a sentence begins with that belongs to the one before: a condition, an exception, a reason."""

ABBREVIATIONS = _words("etc vs mr mrs ms dr no nr approx ca bzw usw cf resp incl")

DANGLING = _words(
    "a an the to of and or but if not no is are was be must should shall will would can may always never only"
    " i we you it that which who please just your our my der die das und oder nicht le la les et ou ne pas"
)
"""What a statement does not end with: a task that seems to follow one of these belongs to the statement."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """One labelled statement. `is_pasted` where it may be somebody else's: it stands behind pasted text.
    `is_asked` where the user asks to remember it, in words of their own; `reach` is where these say that it
    holds, None where they say nothing of that."""

    kind: Kind
    text: str
    is_pasted: bool = False
    is_asked: bool = False
    reach: ScopeKind | None = None


def find_labelled(request: str) -> tuple[Labelled, ...]:
    """The labelled statements of a request, in order; blank ones are left out. Of a very long request its
    beginning and its end are read."""
    pasted = find_pasted(request)
    outside = without(request, pasted.blocks)
    inert = inert_spans(outside)
    found: list[Labelled] = []
    for window in _windows(outside):
        marks = _marks(outside, inert, window)
        ends = [*(mark.start() for mark in marks[1:]), window[1]]
        for mark, end in zip(marks, ends, strict=False):
            said = (mark.end(), end)
            text = _statement(outside[slice(*said)])
            if text:
                is_pasted = not _is_own(outside, said, pasted.first)
                found.append(Labelled(kind=_KINDS[mark["name"].casefold()], text=text, is_pasted=is_pasted))
            if len(found) == LABELS_MAX:
                return tuple(found)
    return tuple(found)


def _is_own(outside: str, said: Span, first: int) -> bool:
    """Whether a statement stands before the first pasted text, and neither goes on in it nor behind it."""
    start, end = said
    if end <= first:
        return True
    if start > first:
        return False
    before = outside[start:first]
    # Where something pasted opens in the midst of a line, that line says more than what is left of it.
    cut = f"{before}{_CUT}" if before.rpartition("\n")[2].strip() else before
    return _statement(cut) == _statement(outside[start:end])


def _windows(text: str) -> list[Span]:
    """What is read of a text: all of it, or of a long one its beginning and its end in whole lines."""
    if len(text) <= _HEAD_CHARS + _TAIL_CHARS:
        return [(0, len(text))]
    head = max(text.rfind("\n", 0, _HEAD_CHARS), text.rfind(". ", 0, _HEAD_CHARS)) + 1
    tail = text.find("\n", len(text) - _TAIL_CHARS) + 1
    return [(0, head), (tail, len(text))] if tail else [(0, head)]


_KINDS = {name.casefold(): kind for kind, names in NAMES.items() for name in names}
# A line's beginning with what lists and headings put there, or the beginning of a sentence in it. Behind a
# comma or a colon only a capital opens a label: "a fact: ..." explains, "Remember: Fact: ..." says.
_OPENS = (
    r"(?:^[ \t]*(?:(?:[-*+•·–—]|\d{1,3}[.)]|\#{1,6})[ \t]+(?:\[[ xX]?\][ \t]+)?)?"
    r"|(?<=[.!?;…][\"')\]”’»]{0,2})[ \t]+"
    r"|(?<=[。！？；][」』”’]?)[ \t]*"
    r"|(?<=[,:，：])[ \t]*(?:(?:and|und|et|y)[ \t]+)?(?-i:(?=[*_]{0,3}\p{Lu})))"
)
_CLOSES = r"[*_]{0,3}[ \t\u00a0\u202f]?[:：][*_]{0,3}(?![:/\\=])"
# Behind a colon without a blank: more than one word, for `fact:sheet` is a name.
_GLUED = r"\S+[ \t]+\S+[ \t]+\S"
_SENTENCE = r"(?<=[.!?…][\"')\]”’»]{0,2})\s+|(?<=[。！？])\s*"
_ENDED = r"[.!?…。！？][\"')\]”’»]*$"
# "and reply exactly OK", "Reply exactly: stored": how the answer is to look is no part of a statement.
_ANSWER = (
    r"(?<![^\s,;.])(?:reply|respond|answer)[ \t]++"
    r"(?:exactly|with[ \t]++exactly|only[ \t]++with|with[ \t]++only)\b"
)
_ANSWER_LEAD = r"(?:^|[\s,;.]++)(?:(?:and|then|please|und|et)[ \t]++)*+\Z"
# Where a second statement or an order may begin inside of a sentence.
_JOINT = r";\s+|,?[ \t]+(?=(?:and|then|so)[ \t])"
_GOVERNING = _words("to must should shall can could may might will would let help")
_LEADING = r"(?i)\A(?:(?:and|also|plus)\b,?[ \t]+)+(?=\S)"
_GOES_ON = r"[\p{Ll}\d(\[\"'“«`$€]"
_ITEM = r"(?:[-*+•·–—]|\d{1,3}[.)]|\#{1,6})\s"
_WRAPPED_CHARS_MIN = 60
_CUT = "\ufffc"
_HEAD_CHARS = 64_000
_TAIL_CHARS = 16_000
# More than a record can say: what is longer is too long whatever is cut off its end.
_STATEMENT_CHARS_MAX = 8_000
_LEAD_CHARS = 80
_WORD_CHARS = 80


@cache
def _pattern(text: str, flags: int = 0) -> "regex.Pattern[str]":
    """Compiled when a request is first read: they are large, and most commands read none."""
    return regex.compile(text, flags)


def inert_spans(text: str) -> list[Span]:
    """Spans inside a line in which no label opens: code, and what stands in quotes."""
    code = code_spans(text)
    return sorted([*code, *quotations(mask_spans(text, code))[0]])


def is_labelled(sentence: str) -> bool:
    return bool(_marks(sentence, (), (0, len(sentence))))


def _marks(outside: str, inert: Sequence[Span], window: Span) -> Sequence["regex.Match[str]"]:
    """Where labels stand, in order."""
    names = "|".join(sorted(map(regex.escape, _KINDS), key=len, reverse=True))
    label = _pattern(
        rf"{_OPENS}[*_]{{0,3}}(?P<name>{names}){_CLOSES}", regex.IGNORECASE | regex.MULTILINE | regex.VERSION1
    )
    marks: list[regex.Match[str]] = []
    passed = 0
    for mark in label.finditer(outside, *window):
        start = mark.start("name")
        while passed < len(inert) and inert[passed][1] <= start:
            passed += 1
        is_inert = passed < len(inert) and inert[passed][0] <= start
        if not is_inert and _is_closed(outside, mark):
            marks.append(mark)
    return marks


def _is_closed(text: str, mark: "regex.Match[str]") -> bool:
    """Whether a colon is that of a label: a blank is behind it, or a statement; `Fact:x` is one too, for a
    capital opens no name of that form."""
    behind = text[mark.end() : mark.end() + 1]
    is_apart = not behind.strip() or not behind.isascii() or mark[0].endswith(("*", "_"))
    return is_apart or mark["name"][0].isupper() or _pattern(_GLUED).match(text, mark.end()) is not None


def _statement(behind: str) -> str:
    """What a label says, of all that stands between it and the next one."""
    lines = next(group_lines(behind[:_STATEMENT_CHARS_MAX]), "")
    return clean_statement(next(sentences_in(" ".join(lines.split())), ""))


def clean_statement(sentence: str) -> str:
    """A sentence as it is kept: without how an answer is to look, its last stop, and emphasis around it."""
    said = _pattern(_LEADING).sub("", _without_order(_without_answer(sentence)))
    return _strip_emphasis(said.strip(" \t.;,")).strip(" \t.;,")


def statements_of(sentence: str) -> Iterator[str]:
    """What semicolons divide a sentence into, where each part states something by itself."""
    begun = 0
    for joint in _pattern(_JOINT).finditer(sentence):
        rest = unjoined_words(sentence[joint.end() : joint.end() + _LEAD_CHARS])
        if joint[0].startswith(";") and (_stands_alone(rest) or is_command(rest)):
            yield sentence[begun : joint.start()]
            begun = joint.end()
    yield sentence[begun:]


def _without_order(sentence: str) -> str:
    """A statement without the order that is joined to it: "the port is 80, and fix the build". What somebody
    does, or is to do, may go on in the same form: "I build and run the tests"."""
    for joint in _pattern(_JOINT).finditer(sentence):
        said, rest = sentence[: joint.start()], sentence[joint.end() : joint.end() + _LEAD_CHARS]
        if is_command(unjoined_words(rest)):
            words = unjoined_words(said)
            is_open = (
                ":" in said or not SUBJECT_PRONOUNS.isdisjoint(words[:1]) or not _GOVERNING.isdisjoint(words)
            )
            return sentence if is_open or not _stands_alone(words) else said
    return sentence


def unjoined_words(text: str) -> list[str]:
    """The words of a text without those that join it to what stands before."""
    words = [word.core for word in read_words(fold_wording(text))]
    while words and words[0] in JOINING | {"please"}:
        del words[0]
    return words


def _stands_alone(words: Sequence[str]) -> bool:
    """Whether words state something that needs nothing before it: a subject of their own, and its link."""
    if not words or words[0] in ANAPHORS or is_command(words):
        return False
    return words[0] in SPEAKERS or any(word in LINKS for word in words[1:])


def group_lines(behind: str) -> Iterator[str]:
    """The lines behind a label, each with those that go on with it, up to a blank one. A label may stand
    alone on its line, directly above what it labels."""
    group: list[str] = []
    for number, line in enumerate(behind.splitlines()):
        if not line.strip():
            if number:
                break
            continue
        if group and not _continues(group[-1], line):
            yield "\n".join(group)
            group = []
        group.append(line)
    if group:
        yield "\n".join(group)


def _continues(said: str, line: str) -> bool:
    """Whether a line goes on with the one above it, as text does that was wrapped."""
    above, here = said.rstrip(), line.strip()
    if _pattern(_ENDED).search(above) or _pattern(_ITEM).match(here) or is_task(here):
        return False
    if _last_word(above) in DANGLING or above.endswith((",", ":", "-", "–", "(")):
        return True
    return len(above) >= _WRAPPED_CHARS_MIN or _pattern(_GOES_ON).match(here) is not None


def sentences_in(text: str) -> Iterator[str]:
    """The sentences of one line, each with those behind it that belong to it."""
    begun = 0
    for gap in _pattern(_SENTENCE, regex.VERSION1).finditer(text):
        start, behind = gap.span()
        word = _last_word(text[max(0, start - _WORD_CHARS) : start])
        if not _is_abbreviation(word) and not _refers_back(text[behind : behind + _WORD_CHARS]):
            yield text[begun:start]
            begun = behind
    yield text[begun:]


def _without_answer(text: str) -> str:
    answer = _pattern(_ANSWER, regex.IGNORECASE).search(text)
    if answer is None:
        return text
    # Looked for backwards from its verb, and not far: every word before it may be one that leads to it.
    begun = max(0, answer.start() - _LEAD_CHARS)
    lead = _pattern(_ANSWER_LEAD, regex.IGNORECASE).search(text[begun : answer.start()])
    tail = begun + lead.start() if lead is not None else answer.start()
    return text[:tail] if _last_word(text[:tail]) not in DANGLING | {""} else text


def _is_abbreviation(word: str) -> bool:
    """Whether a stop behind a word ends nothing."""
    return word in ABBREVIATIONS or ("." in word and not any(sign.isdigit() for sign in word))


def _refers_back(text: str) -> bool:
    first = next(iter(text.casefold().split(maxsplit=1)), "").strip(",.:;!")
    if first in JOINING:
        rest = unjoined_words(text)
        return first in REFERRING and not (is_command(rest) or _stands_alone(rest))
    return first in REFERRING or text.startswith(REFERRING_SIGNS)


def is_task(line: str) -> bool:
    first = line.casefold().split(maxsplit=1)[:1]
    return bool(first) and first[0].strip(",.:;!") in TASK_WORDS


def _last_word(text: str) -> str:
    words = text.casefold().rsplit(maxsplit=1)
    return words[-1].strip(",;:.\"'") if words else ""


def _strip_emphasis(text: str) -> str:
    for mark in ("***", "**", "__", "*", "_"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            inner = text[len(mark) : -len(mark)]
            return inner if mark not in inner else text
    return text
