"""`user-correction`: the user corrects what the agent ran, and what it runs then works (SKL-2, SKL-3).

The message stands after the corrected command and before the one that works, and the two belong together: the
message names the later one, or both do the same with the same program. A message that plainly denies what was
done corrects a command that had worked as well; one that only proposes something corrects a failure. Of
several pairs the one that the message names most plainly wins, then the most recent.

Whether a message names a command: in backticks, word for word, or by what it has and another has not.
"""

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from itertools import pairwise

from runlore.domain.detectors.correction_words import (
    DENYING,
    INTRODUCING,
    LANGUAGES,
    PLAIN_WORDS,
    UNWANTED_BEFORE,
)
from runlore.domain.detectors.match import Heuristic, Match, make_occurrence
from runlore.domain.detectors.mined import MinedRun, Outcome, Step, StepCommand, UserRequest
from runlore.domain.lazy import dataclass
from runlore.domain.learning.own_words import cut_pasted
from runlore.domain.text.inline_spans import code_spans

TOKENS_MAX = 400
_PAUSES = (",", ".", ";", ":", "!", "?", "，", "。", "、", "！", "？")
_EDGES = "`'\"“”„«»‘’()[]{}<>,;!?…。，、！？"
NAMING_CHARS_MAX = 8_000
COMMAND_CHARS_MAX = 400
WORDS_OF_ACT = 4
_FLAG_CHARS_MIN = 4
# Scripts that put no blank between their words and a command.
_UNSPACED = re.compile(r"[\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef]{1,40}")
_LONG_TEXT = re.compile(r"\"[^\"]*\s[^\"]*(?:\"|$)|'[^']*\s[^']*(?:'|$)|<<.*", re.DOTALL)
STEPS_BEFORE_MAX = 24
STEPS_AFTER_MAX = 48
RUNS_LATER_MAX = 2
# A long message is a task: what it says of "instead" and "not" further on is part of it.
MESSAGE_CHARS_MAX = 1_000
SENTENCES_OF_LONG_MAX = 2
SENTENCE_CHARS_MAX = 400

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
_BLANKS = re.compile(r"\s+")
_UNDONE = frozenset({Outcome.FAILED, Outcome.REFUSED})
# They say where and with what something is done, and not what.
_SETTING = frozenset(
    {"cd", "pushd", "popd", "export", "source", ".", "set", "sleep", "mkdir", "true", "unset"}
)


class Named(IntEnum):
    """How plainly a message names a command."""

    NOT = 0
    BY_WORD = 1
    BY_PROGRAM = 2
    WORD_FOR_WORD = 3
    WHOLE = 4


class Message:
    """What a user wrote before anything pasted, as words that can be compared with a command's."""

    def __init__(self, text: str) -> None:
        own = _UNSPACED.sub(r" \g<0> ", cut_pasted(text)[:NAMING_CHARS_MAX])
        read = [(bare, word) for word in own.split()[:TOKENS_MAX] if (bare := _bare(word))]
        self._tokens = [bare for bare, _ in read]
        self._pauses = {place for place, (_, word) in enumerate(read) if word.endswith(_PAUSES)}
        self._coded = {_bare(own[slice(*span)].strip("` ")) for span in code_spans(own)[:TOKENS_MAX]}

    def names(self, command: str, *, unlike: str, is_unwanted: bool = False) -> Named:
        """How plainly it names a command, by words that the other command does not have.

        A command that is only named as what is not wanted counts as named where that is asked for.
        """
        words = command_words(command)
        others = set(command_words(unlike))
        own = [word for word in words if word not in others]
        if not own:
            return Named.NOT
        return max(
            self._whole(words, is_unwanted=is_unwanted),
            self._in_row(words, own, is_unwanted=is_unwanted),
            self._by_word(words, own, is_unwanted=is_unwanted),
        )

    def _whole(self, words: list[str], *, is_unwanted: bool) -> Named:
        is_coded = " ".join(words) in self._coded
        is_said = (len(words) > 1 or is_coded) and self._says_any(words, is_unwanted=is_unwanted)
        return Named.WHOLE if is_said else Named.NOT

    def _in_row(self, words: list[str], own: list[str], *, is_unwanted: bool) -> Named:
        """Two of its first words next to each other, one of them its own."""
        for place, row in enumerate(pairwise(words[:WORDS_OF_ACT])):
            if (row[0] in own or row[1] in own) and self._says_any(list(row), is_unwanted=is_unwanted):
                return Named.WORD_FOR_WORD if place == 0 else Named.BY_WORD
        return Named.NOT

    def _by_word(self, words: list[str], own: list[str], *, is_unwanted: bool) -> Named:
        found = Named.NOT
        for word in own:
            if not self._says_any(*_ways_to_say(word), is_unwanted=is_unwanted):
                continue
            if word == words[0] and self._is_program(word):
                return Named.BY_PROGRAM
            if word in self._coded or not word.isalpha():
                found = Named.BY_WORD
        return found

    def _is_program(self, word: str) -> bool:
        if word not in PLAIN_WORDS:
            return True
        places = [place for place, token in enumerate(self._tokens) if token == word]
        return any(place and self._tokens[place - 1] in INTRODUCING for place in places)

    def _says_any(self, *rows: list[str], is_unwanted: bool) -> bool:
        """Whether any of these rows of words is said, and not only as what is not wanted."""
        for row in rows:
            size = len(row)
            for place in range(len(self._tokens) - size + 1):
                if self._tokens[place : place + size] != row:
                    continue
                if is_unwanted or not self._is_unwanted(place):
                    return True
        return False

    def _is_unwanted(self, place: int) -> bool:
        before, directly = ["", "", *self._tokens[:place]][-2:]
        if place - 1 in self._pauses:
            return False
        if directly in UNWANTED_BEFORE:
            return True
        # "don't use it", but not "no, use it".
        return directly in INTRODUCING and before in DENYING and place - 2 not in self._pauses


def command_words(command: str) -> list[str]:
    """The words of a command, without texts of several words that it is given."""
    plain = _LONG_TEXT.sub(" ", command[:COMMAND_CHARS_MAX])
    return [word for word in map(_bare, plain.split()) if word]


def _ways_to_say(word: str) -> list[list[str]]:
    """A word, and a long flag without its dashes: "use a different port" speaks of `--port`."""
    bare = word.lstrip("-").partition("=")[0]
    is_flag = word.startswith("--") and len(bare) >= _FLAG_CHARS_MIN
    return [[word], [bare]] if is_flag else [[word]]


def _bare(word: str) -> str:
    """A word without quotes and what ends a sentence; a dot inside it or before it stays."""
    return re.sub(r"[.:]{1,3}$", "", word.strip(_EDGES)).strip(_EDGES).casefold()


class Correcting(IntEnum):
    """How plainly a message corrects what was done."""

    NOT = 0
    PROPOSING = 1
    DENYING = 2


def user_correction(session: Sequence[MinedRun]) -> Match | None:
    """The correction that the last run follows, if it does."""
    last = len(session) - 1
    if last < 1 or not any(_has_worked(step) for step in session[last].steps):
        return None
    for place in range(last, max(0, last - RUNS_LATER_MAX), -1):
        request = session[place].request
        before = _steps_before(session, place) if request is not None else ()
        # Reading a message costs more than all the rest: it is done where there is something to correct.
        correcting = correcting_of(request.own) if request is not None and before else Correcting.NOT
        if request is None or correcting is Correcting.NOT:
            continue
        if any(_best(request, correcting, before, after=run.steps) for run in session[place:last]):
            return None
        pair = _best(request, correcting, before, after=session[last].steps)
        return _match(session[last], request, pair) if pair is not None else None
    return None


# A message is asked about with each of the runs that follow it.
@lru_cache(maxsize=16)
def correcting_of(own: str) -> Correcting:
    """How plainly the user's own words correct something, in any of the languages that are known."""
    sentences = [sentence for sentence in _sentences(own) if sentence]
    if len(own.strip()) > MESSAGE_CHARS_MAX:
        sentences = sentences[:SENTENCES_OF_LONG_MAX]
    return max((_reading(sentence) for sentence in sentences), default=Correcting.NOT)


def _sentences(own: str) -> Iterator[str]:
    text = own.strip()[: 2 * MESSAGE_CHARS_MAX].replace("’", "'").casefold()
    for sentence in _SENTENCE_ENDS.split(text):
        yield _BLANKS.sub(" ", sentence).strip()[:SENTENCE_CHARS_MAX]


def _reading(sentence: str) -> Correcting:
    found = Correcting.NOT
    is_question = sentence.endswith(("?", "？"))
    for language in LANGUAGES:
        firm, tried, harmless, polite = _patterns(language)
        if harmless is not None and harmless.search(sentence):
            # "no problem" is none in any language that has the word "no".
            return Correcting.NOT
        if is_question and (polite is None or not polite.search(sentence)):
            continue
        if firm.search(sentence):
            found = Correcting.DENYING
        elif tried.search(sentence):
            found = max(found, Correcting.PROPOSING)
    return found


@cache
def _patterns(
    language: str,
) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str] | None, re.Pattern[str] | None]:
    words = LANGUAGES[language]
    return (
        re.compile("|".join(words.firm)),
        re.compile("|".join(words.tried)),
        re.compile("|".join(words.harmless)) if words.harmless else None,
        re.compile(words.polite) if words.polite else None,
    )


@dataclass(frozen=True, kw_only=True)
class _Pair:
    earlier: tuple[Step, StepCommand]
    later: tuple[Step, StepCommand]
    rank: tuple[int, ...]


def _steps_before(session: Sequence[MinedRun], place: int) -> tuple[Step, ...]:
    """What the agent did last before a message: the run before it, or the one before that."""
    for run in reversed(session[max(0, place - 2) : place]):
        counting = [step for step in run.steps if not step.is_looking]
        if counting:
            return tuple(counting[-STEPS_BEFORE_MAX:])
    return ()


def _best(
    request: UserRequest, correcting: Correcting, before: Sequence[Step], *, after: Sequence[Step]
) -> _Pair | None:
    message = Message(request.text)
    done = [step for step in after if not step.is_looking][:STEPS_AFTER_MAX]
    pairs = (
        pair
        for later in done
        if _has_worked(later)
        for earlier in before
        for pair in _pairs(message, correcting, earlier, later=later)
    )
    best = max(pairs, key=lambda pair: pair.rank, default=None)
    if best is not None and not best.rank[0] and not _is_first(best, done):
        return None
    return best


def _is_first(pair: _Pair, done: Sequence[Step]) -> bool:
    """Whether what works is the first thing that was tried with its program: nothing else came between."""
    program = _program(pair.later[1])
    tried = next((step for step in done if program in map(_program, _acting(step))), None)
    return tried is pair.later[0]


def _pairs(message: Message, correcting: Correcting, earlier: Step, *, later: Step) -> Iterator[_Pair]:
    for wrong in _acting(earlier):
        for right in _acting(later):
            rank = _rank(message, correcting, (earlier, wrong), (later, right))
            if rank is not None:
                yield _Pair(earlier=(earlier, wrong), later=(later, right), rank=rank)


def _rank(
    message: Message,
    correcting: Correcting,
    earlier: tuple[Step, StepCommand],
    later: tuple[Step, StepCommand],
) -> tuple[int, ...] | None:
    """How well two commands fit as the corrected one and the one that works; None where they do not."""
    (before, wrong), (after, right) = earlier, later
    named = message.names(right.text, unlike=wrong.text)
    is_undone = before.outcome in _UNDONE
    does_same = _does_same(wrong, right)
    if named is Named.BY_WORD and not does_same:
        named = Named.NOT
    if named is Named.NOT:
        if correcting is not Correcting.DENYING or not is_undone or not does_same or wrong.form == right.form:
            return None
    elif not is_undone and correcting is not Correcting.DENYING:
        return None
    shared = does_same or _program(wrong) == _program(right) or _shares_words(wrong, right)
    was_named = message.names(wrong.text, unlike=right.text, is_unwanted=True) is not Named.NOT
    if not (shared or was_named or is_undone):
        return None
    return named, was_named, shared, is_undone, after.number, before.number


def _has_worked(step: Step) -> bool:
    return step.outcome is Outcome.SUCCEEDED and not step.is_looking


def _acting(step: Step) -> list[StepCommand]:
    return [each for each in step.commands if not each.is_looking and _program(each) not in _SETTING]


def _program(command: StepCommand) -> str:
    return command.form.partition(" ")[0]


def _does_same(wrong: StepCommand, right: StepCommand) -> bool:
    """Whether two commands are the same program's, and the same of its subcommands or a kind of it."""
    one, other = wrong.form.split()[:2], right.form.split()[:2]
    if one[0] != other[0]:
        return False
    if len(one) == 1 or len(other) == 1 or one[1].startswith("-") or other[1].startswith("-"):
        return True
    return one[1].startswith(other[1]) or other[1].startswith(one[1])


def _shares_words(wrong: StepCommand, right: StepCommand) -> bool:
    """Whether they have words in common, or do the same in one word: `npm install` and `uv sync` install."""
    is_same = bool(wrong.verb) and wrong.verb == right.verb
    return is_same or bool(set(wrong.text.split()[1:]) & set(right.text.split()[1:]))


def _match(run: MinedRun, request: UserRequest, pair: _Pair) -> Match:
    before, after = pair.earlier[0], pair.later[0]
    occurrence = make_occurrence(run, (before, after))
    return Match(
        heuristic=Heuristic.USER_CORRECTION,
        pattern=f"{before.form} -> {after.form}",
        occurrences=(occurrence,),
        request=request,
    )
