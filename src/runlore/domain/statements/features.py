"""What can be seen of one sentence, as named features; and why a sentence states nothing lasting at all."""

import re

from runlore.domain.languages.detection import language_of
from runlore.domain.languages.language import Cue, Opening
from runlore.domain.statements.sentences import MessageSentence

_QUESTION_MARK = re.compile(r"[?？][\s)\]!.…]*$")
_CODE = re.compile(r"`|\w[/_]\w|[a-z][A-Z]|\w\.[a-z]{2,4}\b")
_DIGIT = re.compile(r"\d")
# The number of a step, which stands between others.
_NUMBERED = re.compile(r"(?:^|\s)\d{1,2}[.)]\s")
_ADDRESS = re.compile(r"https?://")
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]")
_CLAUSE = re.compile(r",|;|->|→|\bthen\b|\band\b|\bdann\b|\bpuis\b|\bluego\b|，|、")
_STEPS_MIN, _NUMBERED_MIN = 4, 2
_SHORT_WORDS, _LONG_WORDS, _VERY_LONG_WORDS = 4, 25, 40
_LONG_MESSAGE, _VERY_LONG_MESSAGE, _MANY_LINES, _LATE_PLACE = 400, 1_500, 8, 5
# Two characters of a script without spaces are about as much as a word.
_CHARS_OF_WORD = 2

_COUNTED = frozenset(Cue) - {
    Cue.REQUEST,
    Cue.MOMENTARY,
    Cue.HYPOTHESIS,
    Cue.PERSON,
    Cue.PLACE,
    Cue.ONE_THING,
}


class SentenceFeatures:
    """What was seen of a sentence: its features, whether it asks for something, whether it names the place
    that it holds for, or code of it, whether it is about one thing that is at hand, and whether it begins
    with what is not to be done."""

    __slots__ = (
        "features",
        "forbids",
        "is_of_one_thing",
        "is_of_place",
        "is_request",
        "language",
        "passed_over",
    )

    def __init__(self, sentence: MessageSentence) -> None:
        language = language_of(sentence.plain)
        cues = language.cues_in(sentence.plain)
        openings = language.openings_of(sentence.plain)
        is_asked = _QUESTION_MARK.search(sentence.text) is not None
        if is_asked:
            # "Could we use X?" tells of no practice.
            cues -= {Cue.PRACTICE}
        if cues & {Cue.RULE, Cue.EVERY}:
            # "Always remember to ..." asks for more than one act.
            cues -= {Cue.ERRAND}
        is_polite = Cue.REQUEST in cues
        is_question = Opening.QUESTION in openings or (
            is_asked and (not is_polite or language.is_question(sentence.plain))
        )
        self.language = language
        self.is_request = not is_question and bool(
            is_polite
            or Opening.COMMAND in openings
            or cues & {Cue.OBLIGATION, Cue.CARE}
            or _is_listed(sentence.plain)
        )
        self.is_of_place = Cue.PLACE in cues or (
            Cue.WORKFLOW not in cues and _CODE.search(sentence.text) is not None
        )
        self.is_of_one_thing = bool(cues & {Cue.ERRAND, Cue.ONE_THING, Cue.POINTING})
        self.forbids = Opening.PROHIBITION in openings
        self.passed_over = _passed_over(cues, is_question=is_question)
        self.features = frozenset(
            {
                *(cue.value for cue in cues & _COUNTED),
                *_shape(sentence),
                *(("told",) if Cue.RULE in cues and not self._orders(cues) else ()),
                *(("impersonal",) if not self.is_request and Cue.PERSON not in cues else ()),
                *(("command",) if Opening.COMMAND in openings else ()),
                *(("question",) if is_asked else ()),
                *(("steps",) if self.is_request and _is_steps(sentence.plain) else ()),
            }
        )

    def _orders(self, cues: frozenset[Cue]) -> bool:
        """Whether "always" and "never" are said of what is to be done, and not of what happens."""
        return Cue.STORY not in cues and (self.is_request or bool(cues & {Cue.PRACTICE, Cue.WISH}))


def _passed_over(cues: frozenset[Cue], *, is_question: bool) -> str:
    """Why a sentence states nothing lasting, whatever else it says; empty where it may."""
    if is_question:
        return "a question"
    if Cue.MOMENTARY in cues:
        return "for the moment"
    if Cue.HYPOTHESIS in cues:
        return "a hypothesis"
    return ""


def _shape(sentence: MessageSentence) -> list[str]:
    words = len(_WORD.findall(sentence.plain))
    if unspaced := len(_UNSPACED.findall(sentence.plain)):
        words = max(words, unspaced // _CHARS_OF_WORD)
    checks = {
        "digits": _DIGIT.search(_NUMBERED.sub(" ", sentence.text)) is not None,
        "address": _ADDRESS.search(sentence.text) is not None,
        "short": words < _SHORT_WORDS,
        "long": words > _LONG_WORDS,
        "very long": words > _VERY_LONG_WORDS,
        "long message": sentence.message_chars > _LONG_MESSAGE,
        "very long message": sentence.message_chars > _VERY_LONG_MESSAGE,
        "many lines": sentence.message_lines > _MANY_LINES,
        "late": sentence.place >= _LATE_PLACE,
    }
    return [name for name, holds in checks.items() if holds]


def _is_listed(plain: str) -> bool:
    """Whether it is a list of numbered steps: whoever writes one down asks for them."""
    return len(_NUMBERED.findall(plain)) >= _NUMBERED_MIN


def _is_steps(plain: str) -> bool:
    return _is_listed(plain) or len([part for part in _CLAUSE.split(plain) if part.strip()]) >= _STEPS_MIN
