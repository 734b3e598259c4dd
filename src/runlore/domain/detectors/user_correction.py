"""`user-correction`: the user corrects what the agent ran, and what it runs then works (SKL-2, SKL-17).

The message stands after the corrected command and before the one that works, and is about that very command:
it names a word that the one has and the other has not, as what is wanted or as what is not. A message that
plainly denies what was done corrects a command that had worked as well; one that only proposes something
corrects a failure. Of several pairs the one that the message names most plainly wins, then the most recent.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from typing import NamedTuple

from runlore.domain.detectors.match import Heuristic, Match, make_occurrence
from runlore.domain.detectors.mined import MinedRun, Outcome, Step, StepCommand
from runlore.domain.learning.own_words import cut_pasted

STEPS_BEFORE_MAX, STEPS_AFTER_MAX, RUNS_LATER_MAX = 24, 48, 2
# A long message is a task: what it says of "instead" and "not" further on is part of it.
MESSAGE_CHARS_MAX, SENTENCES_OF_LONG_MAX, SENTENCE_CHARS_MAX = 1_000, 2, 400
SAID_CHARS_MAX, WORDS_MAX, COMMAND_CHARS_MAX = 8_000, 400, 400
_FLAG_CHARS_MIN = 4
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
# A word as a command has it, or what parts sentences.
_WORD = re.compile(r"[a-z]+'t|[a-z0-9_./:@=+-]*[a-z0-9_/]|[^\W\d_a-z]+|[,.;:!?，。、！？]", re.IGNORECASE)
_LONG_TEXT = re.compile(r"\"[^\"]*\s[^\"]*(?:\"|$)|'[^']*\s[^']*(?:'|$)|<<.*", re.DOTALL)
_UNDONE = frozenset({Outcome.FAILED, Outcome.REFUSED})


class Correcting(IntEnum):
    """How plainly a message corrects what was done."""

    NOT = 0
    PROPOSING = 1
    DENYING = 2


def user_correction(session: Sequence[MinedRun]) -> Match | None:
    """The correction that the last run follows, if it does."""
    last = len(session) - 1
    if last < 1 or not any(step.has_worked for step in session[last].steps):
        return None
    for place in range(last, max(0, last - RUNS_LATER_MAX), -1):
        request = session[place].request
        before = _steps_before(session, place) if request is not None else ()
        # Reading a message costs more than all the rest: it is done where there is something to correct.
        if request is None or not before or correcting_of(request.own) is Correcting.NOT:
            continue
        if any(_best_pair(request.text, before, run.steps) for run in session[place:last]):
            return None
        pair = _best_pair(request.text, before, session[last].steps)
        if pair is None:
            return None
        return Match(
            heuristic=Heuristic.USER_CORRECTION,
            pattern=f"{pair[0].form} -> {pair[1].form}",
            occurrences=(make_occurrence(session[last], pair),),
            request=request,
        )
    return None


# A message is asked about with each of the runs that follow it.
@lru_cache(maxsize=16)
def correcting_of(own: str) -> Correcting:
    """How plainly the user's own words correct something, in any of the languages that are known."""
    text = own.strip()[: 2 * MESSAGE_CHARS_MAX].replace("’", "'").casefold()
    sentences = [sentence for each in _SENTENCE_ENDS.split(text) if (sentence := " ".join(each.split()))]
    if len(own.strip()) > MESSAGE_CHARS_MAX:
        sentences = sentences[:SENTENCES_OF_LONG_MAX]
    return max((_read(sentence[:SENTENCE_CHARS_MAX]) for sentence in sentences), default=Correcting.NOT)


def _read(sentence: str) -> Correcting:
    firm, tried, harmless = _patterns()
    if harmless.search(sentence):
        return Correcting.NOT
    if firm.search(sentence):
        return Correcting.DENYING
    return Correcting.PROPOSING if tried.search(sentence) else Correcting.NOT


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile("|".join(rows)) for rows in zip(*LANGUAGES.values(), strict=True))


def _steps_before(session: Sequence[MinedRun], place: int) -> tuple[Step, ...]:
    """What the agent did last before a message: the run before it, or the one before that."""
    for run in reversed(session[max(0, place - 2) : place]):
        counting = [step for step in run.steps if not step.is_looking]
        if counting:
            return tuple(counting[-STEPS_BEFORE_MAX:])
    return ()


def _best_pair(said: str, before: Sequence[Step], after: Sequence[Step]) -> tuple[Step, Step] | None:
    words = [
        word.casefold()
        for word in _WORD.findall(cut_pasted(said)[:SAID_CHARS_MAX].replace("’", "'"))[:WORDS_MAX]
    ]
    is_denied = correcting_of(said) is Correcting.DENYING
    done = [step for step in after if not step.is_looking][:STEPS_AFTER_MAX]
    pairs = [
        ((rank, earlier.outcome in _UNDONE, later.number, earlier.number), (earlier, later))
        for later in (step for step in done if step.has_worked)
        for earlier in before
        if is_denied or earlier.outcome in _UNDONE
        for wrong in _acting(earlier)
        for right in _acting(later)
        if (rank := _rank(words, wrong, right))
    ]
    return max(pairs, key=lambda pair: pair[0])[1] if pairs else None


def _rank(said: Sequence[str], wrong: StepCommand, right: StepCommand) -> int:
    """How plainly a message names one command in the other's place; 0 where it does not."""
    words, others = _command_words(right.text), _command_words(wrong.text)
    new = [word for word in words if word not in others]
    old = [word for word in others if word not in words]
    does_same = words[0] == others[0] or (bool(wrong.verb) and wrong.verb == right.verb)
    if not new or any(
        _is_said(said, row, is_unwanted=True) for row in (words[:2], *([word] for word in new))
    ):
        return 0
    is_unwanted = any(_is_said(said, [word], is_unwanted=True) for word in old)
    is_row = len(words) > 1 and _is_said(said, words[:2]) and not {*words[:2]}.isdisjoint(new)
    is_program = words[0] in new and words[0] not in PLAIN_WORDS and _is_said(said, words[:1])
    is_value = any(
        _is_said(said, [each]) for word in new if not word.isalpha() for each in _ways_to_say(word)
    )
    if is_row or is_program:
        return 4 + is_unwanted if does_same or is_unwanted or {*words[1:]} & {*others[1:]} else 0
    return (2 * is_value + is_unwanted) * does_same


def _is_said(said: Sequence[str], row: Sequence[str], *, is_unwanted: bool = False) -> bool:
    """Whether words are said next to each other: as what is wanted, or as what is not."""
    if row[0] not in said:
        return False
    for place in range(len(said) - len(row) + 1):
        if [*said[place : place + len(row)]] == [*row]:
            before = list(_words_before(said, place))
            if is_unwanted is not UNWANTED_BEFORE.isdisjoint(before):
                return True
    return False


def _words_before(said: Sequence[str], place: int) -> Iterator[str]:
    """The two words before a place, no further than a pause."""
    for word in reversed(said[max(0, place - 2) : place]):
        if not word[-1].isalnum():
            return
        yield word


def _command_words(command: str) -> list[str]:
    """The words of a command, without texts of several words that it is given."""
    plain = _LONG_TEXT.sub(" ", command[:COMMAND_CHARS_MAX])
    return [word.strip("`'\"").casefold() for word in plain.split() if word.strip("`'\"")] or [""]


def _ways_to_say(word: str) -> list[str]:
    """A word, and a long flag without its dashes: "use a different port" speaks of `--port`."""
    bare = word.lstrip("-").partition("=")[0]
    return [word, bare] if word.startswith("--") and len(bare) >= _FLAG_CHARS_MIN else [word]


def _acting(step: Step) -> list[StepCommand]:
    return [each for each in step.commands if not each.is_looking]


class CorrectionWords(NamedTuple):
    """The expressions of one language, matched against one sentence in lower case: `firm` ones deny what was
    done, or set something else in its place; `tried` ones only propose something; `harmless` ones take a
    sentence out."""

    firm: str
    tried: str
    harmless: str


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LANGUAGES: Mapping[str, CorrectionWords] = {
    "en": CorrectionWords(
        r"\b(?:no|nope|nah|wrong|instead|rather|different)\b(?!-)|(?:\bnot|n'?t) (?:what|that|like)\b"
        r"|\b(?:don'?t|do not|never|stop) (?:use|using|run|running|call|try)\b"
        r"|\bactually\b|\bi (?:meant|said)\b|\byou should\b",
        r"\b(?:try|should)\b",
        r"\bno[ ,.!]{1,3}(?:problems?|worr|thanks?|need|rush|hurry|doubt|idea|matter|longer|more|changes?)"
        r"|\bactually (?:works?|looks?|pretty|quite|good|great|fine|nice)\b"
        r"|\b(?:what|nothing|anything|not|isn'?t|go|went|goes)\b.{0,40}\bwrong\b|\btry again\b"
        r"|\b(?:this|that|it)(?:'s| is) (?:fine|ok|okay|good|great|right|correct)\b",
    ),
    "de": CorrectionWords(
        r"\b(?:nein|nee|nö|falsch\w*|stattdessen|statt|anstatt|lieber|anders)\b|\bnicht (?:das|so|was)\b",
        r"\b(?:versuche?|probiere?)\b",
        r"\bkeine? (?:problem|sorge|eile)|\bnicht schlimm\b",
    ),
    "fr": CorrectionWords(
        r"\bnon\b|\bau lieu d|\bplutôt\b|\b(?:faux|mauvaise?)\b|\bpas ce qu|\bn'utilise pas\b",
        r"\bessa(?:ie|ye|yez)\b",
        r"\bpas (?:de (?:problème|souci)|grave)|\bnon,? merci\b",
    ),
    "es": CorrectionWords(
        r"\bno\b(?!-)|\ben (?:vez|lugar) de\b|\bmejor\b|\b(?:mal|incorrecto|equivocado)\b",
        r"\b(?:prueba|intenta)\b",
        r"\bno (?:hay )?problema|\bno pasa nada\b|\bno (?:te preocupes|importa)\b|\bno,? gracias\b",
    ),
    "it": CorrectionWords(
        r"\bno\b(?!-)|\binvece\b|\bal posto d|\bsbagliat|\bnon usare\b",
        r"\bprova\b",
        r"\bnessun problema\b|\bnon importa\b|\bno,? grazie\b",
    ),
    "pt": CorrectionWords(
        r"\bn[ãa]o\b|\bem vez d|\bao invés d|\berrado\b",
        r"\b(?:tente|tenta)\b",
        r"\bsem problema|\bnão faz mal\b|\bnão,? obrigad",
    ),
    "nl": CorrectionWords(
        r"\bneen?\b|\bin plaats (?:van|daarvan)\b|\bliever\b|\b(?:fout|verkeerd\w*)\b",
        r"\bprobeer\b",
        r"\bgeen (?:probleem|zorgen|haast)\b|\bmaakt niet uit\b|\bnee,? bedankt\b",
    ),
    "ru": CorrectionWords(
        r"\b(?:нет|неправильно|неверно|вместо|лучше)\b|\bне (?:так|то|используй)\b",
        r"\bпопробуй",
        r"\bнет проблем\b|\bничего страшного\b|\bнет,? спасибо\b",
    ),
    "zh": CorrectionWords(
        r"不对|不是|不要|不行|别(?:用|运行)|错了|而不是|应该|改(?:用|成|为)|换(?:成|用)|代替",
        r"试试|尝试|试一下",
        r"没(?:有)?问题|没关系|不用(?:谢|担心)|没错|^不错",
    ),
    "ja": CorrectionWords(
        r"^(?:いいえ|いえ|いや)|違[いう]|(?:では|じゃ)なく|代わりに|間違|使わないで",
        r"試して|やってみて",
        r"問題(?:ない|ありません)|大丈夫|間違いな",
    ),
    "ko": CorrectionWords(r"^(?:아니|아뇨)|틀렸|잘못|대신|말고 ", r"시도해|해 ?봐", r"문제 ?없|괜찮"),
    "pl": CorrectionWords(
        r"\b(?:nie|źle|zamiast)\b", r"\bspróbuj\b", r"\bnie ma (?:problemu|sprawy)\b|\bnie,? dzięki\b"
    ),
}
"""The languages whose corrections are known, by their codes."""

UNWANTED_BEFORE = _words(
    "not of than without avoid don't dont never stop nicht kein keine statt anstatt nie de que sin senza sem"
    " não nao pas niet geen van nooit вместо без не zamiast"
)
"""One of the two words before a command, they say that it is not the one that is wanted: "instead of"."""

PLAIN_WORDS = _words(
    "make go test just task run time at set node script cat less more top find sort cut join split file where"
    " which env sh watch date mix rake tap clear say open start service poetry black click ant parallel"
    " expect tree host dig"
)
"""Names of programs that are everyday words as well."""
