"""Which language a sentence is in: by its script, else by the small words that stand in it."""

import re

from runlore.domain.languages.chinese import CHINESE
from runlore.domain.languages.english import ENGLISH
from runlore.domain.languages.french import FRENCH
from runlore.domain.languages.german import GERMAN
from runlore.domain.languages.japanese import JAPANESE
from runlore.domain.languages.language import Language
from runlore.domain.languages.spanish import SPANISH

LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, CHINESE, JAPANESE)

_SPACED = tuple(language for language in LANGUAGES if language.is_spaced)
_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORDS = re.compile(r"[^\W\d_][\w'-]*")


def language_of(sentence: str) -> Language:
    """The language of a sentence in lower case; English where nothing tells."""
    if not sentence.isascii():
        if _KANA.search(sentence):
            return JAPANESE
        if _HAN.search(sentence):
            return CHINESE
    words = frozenset(_WORDS.findall(sentence))
    marks = [len(words & language.mark_words) for language in _SPACED]
    best = [language for language, count in zip(_SPACED, marks, strict=True) if count == max(marks)]
    if len(best) == 1:
        return best[0]
    # The small words do not tell: the one whose cues it has.
    return max(best, key=lambda language: len(language.cues_in(sentence)))
