"""Whether a message names a command: in backticks, word for word, or by what it has and another has not."""

import re
from enum import IntEnum
from itertools import pairwise

from runlore.domain.detectors.correction_words import DENYING, INTRODUCING, PLAIN_WORDS, UNWANTED_BEFORE
from runlore.domain.inline_spans import code_spans
from runlore.domain.own_words import unpasted

TOKENS_MAX = 400
_PAUSES = (",", ".", ";", ":", "!", "?", "，", "。", "、", "！", "？")
_EDGES = "`'\"“”„«»‘’()[]{}<>,;!?…。，、！？"
MESSAGE_CHARS_MAX = 8_000
COMMAND_CHARS_MAX = 400
WORDS_OF_ACT = 4
_FLAG_CHARS_MIN = 4
# Scripts that put no blank between their words and a command.
_UNSPACED = re.compile(r"[\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef]{1,40}")
_LONG_TEXT = re.compile(r"\"[^\"]*\s[^\"]*(?:\"|$)|'[^']*\s[^']*(?:'|$)|<<.*", re.DOTALL)


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
        own = _UNSPACED.sub(r" \g<0> ", unpasted(text)[:MESSAGE_CHARS_MAX])
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
        is_said = (len(words) > 1 or is_coded) and self._wanted(words, is_unwanted=is_unwanted)
        return Named.WHOLE if is_said else Named.NOT

    def _in_row(self, words: list[str], own: list[str], *, is_unwanted: bool) -> Named:
        """Two of its first words next to each other, one of them its own."""
        for place, row in enumerate(pairwise(words[:WORDS_OF_ACT])):
            if (row[0] in own or row[1] in own) and self._wanted(list(row), is_unwanted=is_unwanted):
                return Named.WORD_FOR_WORD if place == 0 else Named.BY_WORD
        return Named.NOT

    def _by_word(self, words: list[str], own: list[str], *, is_unwanted: bool) -> Named:
        found = Named.NOT
        for word in own:
            if not self._wanted(*_ways_to_say(word), is_unwanted=is_unwanted):
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

    def _wanted(self, *rows: list[str], is_unwanted: bool) -> bool:
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
