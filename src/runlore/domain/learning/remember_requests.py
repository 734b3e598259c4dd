"""What a user asks to remember in words of their own: "remember that ...", "Please remember: ..." (CAP-3).

Each sentence of it is a statement by itself, and its kind is what it says. Nothing is asked where the phrase
stands in a question ("do you remember that ...?"), tells of a memory ("remember when ..."), is quoted or was
pasted, or where it holds for the task at hand. "Remember to ..." asks for an act and states nothing. The task
that follows is no part of it. Words such as "in all my projects" say whose it is.
"""

import re
from collections.abc import Iterator
from enum import IntEnum
from itertools import islice

from runlore.domain import limits
from runlore.domain.claims.clauses import is_command, is_order
from runlore.domain.claims.subject_words import QUESTIONS
from runlore.domain.claims.support_words import LINKS
from runlore.domain.claims.wording import fold_wording, read_words
from runlore.domain.learning.labels import (
    TASK_WORDS,
    Labelled,
    clean_statement,
    group_lines,
    inert_spans,
    is_labelled,
    is_task,
    sentences_in,
    statements_of,
    unjoined_words,
)
from runlore.domain.learning.own_words import cut_pasted
from runlore.domain.record import Kind
from runlore.domain.scope import ScopeKind

_READ_CHARS_MAX = 64_000
HINTS = ("remember", "memori", "in mind", "forget", "merk", "retiens", "souviens", "recuerda")
"""One of these stands in every request that asks to remember something; most have none."""

_PLACES = r"(?:projects?|repos?|repositor(?:y|ies)|codebases?)"
_ALL_PLACES = (
    r"(?:in|for|across|throughout)[ \t](?:(?:all|every|each|any)(?:[ \t](?:the|of|my|our|other|single)){0,3}"
    rf"|(?:all[ \t])?(?:my|our)(?:[ \t]other)?(?=[ \t]\w{{3,11}}s\b))[ \t]{_PLACES}|across[ \t]{_PLACES}"
    rf"|(?:no[ \t]matter|regardless[ \t]of|independent(?:ly)?[ \t](?:of|from)|whatever)"
    rf"(?:[ \t](?:in|which|what|the)){{0,2}}[ \t]{_PLACES}"
    r"|(?:in|for|across|throughout)[ \t](?:all|any|the[ \t]whole)(?:[ \t](?:of|my|our)){1,2}"
    r"[ \t](?:work|coding|code)"
)
_FAR = rf"(?:globally|everywhere(?:[ \t]i[ \t]work)?|wherever[ \t]i[ \t](?:work|am|go|code)|{_ALL_PLACES})"
_NEAR = rf"(?:in|for|within)[ \t](?:this|the|our)[ \t]{_PLACES}"
_NOW = (
    r"(?:(?:in|for|during|within)[ \t](?:the[ \t]rest[ \t]of[ \t])?(?:this|the[ \t]current)"
    r"[ \t](?:task|session|conversation|chat|run|turn|question|ticket|message|thread)"
    r"|(?:(?:just|only)[ \t])?for[ \t](?:now|today|the[ \t]moment|the[ \t]time[ \t]being)|right[ \t]now"
    r"|temporarily|(?:un)?til(?:l)?[ \t][^.!?;:,\n]{1,40}(?=,))"
)
_REACH = rf"(?:(?:just|only|and)[ \t])?(?:{_FAR}|{_NEAR}|{_NOW})(?:[ \t]only)?"
_VERB = (
    r"(?:remember|memori[sz]e|keep[ \t]in[ \t]mind|(?:don['’]?t|do[ \t]not)[ \t]forget"
    r"|merke?[ \t]dir|retiens|souviens-toi|recuerda)"
)
# What says no more than "remember" does.
_LASTING = (
    r"(?:,?[ \t]{1,4}(?:always|please|bitte|s['’]il[ \t](?:te|vous)[ \t]pla[iî]t|por[ \t]favor"
    r"|forever|permanently|from[ \t]now[ \t]on"
    r"|for[ \t](?:good|later|me|next[ \t]time|the[ \t]future))(?=[ \t:：,]),?)?"
)
_ASKED = re.compile(
    r"(?:^|(?<=[.!?;])[ \t]|(?<=[。！？])|(?P<joint>,?[ \t](?=(?:and|then)[ \t])))"
    r"[ \t]{0,8}(?:[-*+•][ \t]{1,4})?"
    r"(?:(?:please|pls|also|and|then|so|ok|okay|hey|hi|btw|fyi|kindly|now|just|bitte|from[ \t]now[ \t]on"
    r"|as[ \t]a[ \t]rule|important|reminder|note(?:[ \t]to[ \t]self)?)\b[,:]?[ \t]{1,4}){0,4}"
    rf"(?:(?P<lead>{_REACH})[,:]?[ \t]{{1,4}}(?:please[ \t]{{1,4}})?)?"
    r"(?P<polite>(?:can|could|will|would)[ \t]you[ \t]{1,4}(?:please[ \t]{1,4})?)?"
    r"(?:i(?:[ \t]want|[ \t]need|['’]d[ \t]like|[ \t]would[ \t]like)[ \t]you[ \t]to[ \t]{1,4})?"
    rf"(?:always[ \t]{{1,4}})?{_VERB}{_LASTING}(?:,?[ \t]{{1,4}}(?P<how>{_REACH})(?=[ \t:：,]))?"
    r"(?:,?[ \t]{1,4}(?:that|dass|que)(?P<that>,?[ \t]{1,4}(?=\S))"
    r"|(?:[ \t]{1,4}(?:this|these|the[ \t]following)(?:[ \t](?:fact|facts|rule|rules|things?|points?)){0,2})?"
    rf"(?:[ \t](?:for[ \t](?:later|me|next[ \t]time|the[ \t]future)|(?P<where>{_REACH})))?[ \t]{{0,4}}"
    r"(?P<list>[:：]\s{0,8})"
    r"|[ \t]{1,4}this(?P<behind>[ \t]{0,4}(?:[.,!]|[ \t][–—-])[ \t]{0,4})(?=\S)"
    r"|(?P<bare>,[ \t]{1,4}(?=\S)|[ \t][–—-]{1,2}[ \t]{1,4}(?=\S)"
    r"|[ \t]{1,4}(?=(?:i|we|my|our|the|all|every)[ \t])))",
    re.I | re.M,
)
_LEADING_REACH = re.compile(rf"(?:{_REACH}),?[ \t]+", re.I)
_NAMES_ALL_PLACES = re.compile(rf"\b(?:{_ALL_PLACES})\b", re.I)
_FAR_ONLY, _NEAR_ONLY = (re.compile(rf"(?:and[ \t])?{reach}\b", re.I) for reach in (_FAR, _NEAR))
_ENDS_NOW = re.compile(rf"[ \t](?:just[ \t]|only[ \t])?{_NOW}(?:[ \t]only)?\Z", re.I)
# "Don't remember that ...", "a function that will remember that ...", "I remember", "the tests remember".
_UNASKED = re.compile(
    r"\b(?:(?:i|they|(?!always|pls)[a-z]{2,}s)(?:[ \t]still)?[ \t]remember"
    r"|(?:(?:don['’]?t|do[ \t]not|never|not|no[ \t]need|needn['’]t|stop)(?:[ \t][a-z]+){0,3}?"
    r"|(?<!you[ \t])(?<!we[ \t])(?:will|can|should|must|could|would)"
    r"|(?<!you[ \t])(?<!sure[ \t])(?<!need[ \t])(?<!have[ \t])(?<!want[ \t])(?<!try[ \t])to)"
    rf"[ \t](?:remember|memori[sz]e|keep[ \t]in[ \t]mind)(?:[ \t]{_REACH})?[ \t](?:that|this|these|it))\b",
    re.I,
)
_AND_THAT = re.compile(r",?[ \t]and[ \t]that[ \t]", re.I)
_LEAD_CHARS = 200
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_ITEM = re.compile(r"\A(?:[-*+•·–—]|\d{1,3}[.)])[ \t]+")
# What tells of a moment, or asks; and what opens a rule.
_MOMENTS = {"time", "day", "night", "week", "moment", "one", "guy", "thing"}
_NO_STATEMENT = QUESTIONS | _MOMENTS | {"if", "to", "about"}
_RULE = {"always", "never", "don't", "do", "not", "prefer", "use", "avoid"}
_SPEAKER = {"i", "i'm", "i'd", "i've", "i'll", "ich", "je", "yo"}
_DECIDED = {"decided", "agreed", "chose", "settled"}


class _Reach(IntEnum):
    """How far the words of a request reach."""

    NONE = 0
    NOW = 1
    NEAR = 2
    FAR = 3


_SCOPES = {_Reach.NEAR: ScopeKind.PROJECT, _Reach.FAR: ScopeKind.PERSONA}


def find_remember_requests(request: str) -> tuple[Labelled, ...]:
    """The statements that a request asks to remember, in order: a bounded number of them."""
    own = cut_pasted(request)[:_READ_CHARS_MAX]
    said = own.casefold()
    if not any(hint in said for hint in HINTS):
        return ()
    inert = inert_spans(own)
    found: dict[str, _Reach] = {}
    done = 0
    for asked in _ASKED.finditer(own):
        place = asked.end()
        is_inert = any(start <= place - 1 < end for start, end in inert)
        if asked.start() >= done and not is_inert and _is_asked(asked):
            end = _PARAGRAPH_END.search(own, place)
            text = own[place : end.start() if end else len(own)]
            taken = _one(asked, text) if asked["list"] is None and asked["behind"] is None else _all(text)
            reach = _reach_of(asked["lead"] or asked["how"] or asked["where"] or "")
            if reach is not _Reach.NOW:
                found |= dict.fromkeys(islice(taken, limits.REMEMBERED_PER_RUN_MAX), reach)
            done = place + 1
            if asked["list"] is not None:
                done = place + len(text)
    labels = (_label(statement, reach) for statement, reach in found.items())
    return tuple(filter(None, labels))[: limits.REMEMBERED_PER_RUN_MAX]


def asks_nothing_lasting(sentence: str) -> bool:
    """Whether a sentence speaks of remembering something and says nothing to keep: it denies that, tells what
    a program is to remember, means the task at hand, or only opens a list."""
    if not any(hint in sentence.casefold() for hint in HINTS):
        return False
    asked = _ASKED.search(sentence)
    reach = _Reach.NONE if asked is None else _reach_of(asked["lead"] or asked["how"] or asked["where"] or "")
    is_opening = asked is not None and asked["list"] is not None and not sentence[asked.end() :].strip()
    return is_opening or reach is _Reach.NOW or _UNASKED.search(sentence) is not None


def statements_in(text: str) -> tuple[str, ...]:
    """The sentences of a text that state something, each alone; orders and questions are left out."""
    said = (
        clean_statement(sentence) for sentence in sentences_in(" ".join(text.split())) if _states(sentence)
    )
    return tuple(each for each in said if len(each.split()) > 1)[: limits.REMEMBERED_PER_RUN_MAX]


def kind_of(statement: str) -> Kind:
    """What kind of statement it is: of the speaker or a rule a preference, of what was agreed a decision."""
    words = fold_wording(statement).split()
    is_rule = words[0] in _SPEAKER | _RULE or (is_order(words) and LINKS.isdisjoint(words))
    if is_rule or any(word.startswith("prefer") for word in words):
        return Kind.PREFERENCE
    return Kind.DECISION if words[0] == "we" and _DECIDED.intersection(words[1:4]) else Kind.FACT


def _is_asked(asked: "re.Match[str]") -> bool:
    """Whether "and remember ..." is joined to an order: in "I sat there, and remember ..." somebody tells."""
    if asked["joint"] is None:
        return True
    before = asked.string[max(0, asked.start() - _LEAD_CHARS) : asked.start()]
    sentence = re.split(r"[.!?;\n]", before)[-1]
    words = [word.core for word in read_words(fold_wording(sentence))]
    while words and words[0] in TASK_WORDS:
        del words[0]
    return is_command(words) or is_order(words)


def _label(statement: str, asked: "_Reach") -> Labelled | None:
    """A statement with whose it is, by the words of the request or by its own; None where it ends with the
    task at hand."""
    lead = _LEADING_REACH.match(statement)
    reach = asked or _reach_of(lead[0] if lead else "")
    if reach is _Reach.NOW or _ENDS_NOW.search(statement):
        return None
    if _NAMES_ALL_PLACES.search(statement):
        reach = _Reach.FAR
    kind = kind_of(statement[lead.end() :] if lead and lead.end() < len(statement) else statement)
    return Labelled(kind=kind, text=statement, is_asked=True, reach=_SCOPES.get(reach))


def _reach_of(words: str) -> "_Reach":
    if not words:
        return _Reach.NONE
    if _FAR_ONLY.match(words):
        return _Reach.FAR
    return _Reach.NEAR if _NEAR_ONLY.match(words) else _Reach.NOW


def _one(asked: "re.Match[str]", text: str) -> Iterator[str]:
    """The sentence behind "that", which may be asked for politely and otherwise is no question, with the
    statements that follow it in its line; where it ends in a colon, the list below it."""
    line = _first_line(text)
    if line.rstrip().endswith(":"):
        yield from _all(text.partition(line)[2])
        return
    sentences = sentences_in(" ".join(line.split()))
    sentence = next(sentences, "")
    is_question = sentence.rstrip().endswith(("?", "？"))
    if is_question and not asked["polite"]:
        return
    is_bare = asked["bare"] is not None
    parts = [part for each in statements_of(sentence.rstrip("?？ ")) for part in _AND_THAT.split(each)]
    for part in parts:
        words = unjoined_words(part)
        if words[:1] and words[0] not in _RULE and is_command(words):
            return
        if _is_statement(said := clean_statement(part), is_bare=is_bare):
            yield said
    for sentence in () if is_question else sentences:
        if not _states(sentence) or is_labelled(sentence) or _ASKED.match(sentence):
            return
        for part in statements_of(sentence):
            if not _states(part) or not _is_statement(said := clean_statement(part), is_bare=True):
                return
            yield said


def _first_line(text: str) -> str:
    return next(group_lines(text), "")


def _all(text: str) -> Iterator[str]:
    """The sentences of a list, to where a task, a question or a label begins."""
    is_first = True
    for line in group_lines(text):
        is_item = _ITEM.match(line.lstrip()) is not None
        if not is_first and not is_item and is_task(line):
            return
        for sentence in sentences_in(" ".join(_ITEM.sub("", line.lstrip(), count=1).split())):
            if is_labelled(sentence):
                return
            if not _states(sentence, may_order=is_first or is_item):
                return
            for part in statements_of(sentence):
                statement = clean_statement(part)
                if _is_statement(statement, is_bare=False) and (is_first or is_item or _states(part)):
                    yield statement
                is_first = False


def _states(sentence: str, *, may_order: bool = False) -> bool:
    words = unjoined_words(sentence)
    if not words or is_task(sentence) or sentence.rstrip().endswith(("?", "？")):
        return False
    return may_order or words[0] in _RULE or not (is_order(words) or is_command(words))


def _is_statement(text: str, *, is_bare: bool) -> bool:
    words = fold_wording(text).split()
    if len(words) < 2 or words[0] in _NO_STATEMENT:
        return False
    return not is_bare or words[0] in {"i", "we"} or not LINKS.isdisjoint(words)
