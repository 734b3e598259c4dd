"""How a language's words are written down, and how a sentence is looked through for them.

A phrase is a few words in lower case. `a/b` is one or the other, `word*` any ending, `_` any one word, `~`
a few words or none. In languages without spaces a phrase is looked for anywhere, and `~` is a few characters.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

_GAP_WORDS_MAX = 4
_GAP_CHARS_MAX = 24
_WORD = r"[^\W_][\w'-]*"
_WORDS = re.compile(_WORD)
# What a phrase may not stand in the middle of.
_BEGINS, _ENDS = r"(?<![\w'-])", r"(?![\w-])"


class Cue(StrEnum):
    """What words in a sentence can say about it."""

    RULE = "rule"
    REMINDER = "reminder"
    PREFERENCE = "preference"
    WISH = "wish"
    EVERY = "every"
    CARE = "care"
    PROHIBITION = "prohibition"
    REPLACEMENT = "replacement"
    LIMIT = "limit"
    PRACTICE = "practice"
    FACT = "fact"
    OBLIGATION = "obligation"
    CORRECTION = "correction"
    REASON = "reason"
    ORDER = "order"
    WORKFLOW = "workflow"
    REQUEST = "request"
    MOMENTARY = "momentary"
    POINTING = "pointing"
    ERRAND = "errand"
    ONE_THING = "one thing"
    HEDGE = "hedge"
    STORY = "story"
    CONDITION = "condition"
    PERSON = "person"
    PLACE = "place"
    HYPOTHESIS = "hypothesis"


class Opening(StrEnum):
    """What a sentence can begin with, behind words such as "ok" and "and then"."""

    COMMAND = "command"
    QUESTION = "question"
    PROHIBITION = "prohibition"


@dataclass(frozen=True, kw_only=True)
class Language:
    """A language's words. `lead_ins` stand before what a sentence begins with, `tags` make a question of it
    at its end ("..., right?"), `contrasts` set one thing against another behind a comma ("tabs, not spaces").
    `marks` are small words that tell the language from the others; `weak` are
    words that every request is full of, which make no wish the same as another."""

    name: str
    cues: Mapping[Cue, str]
    openings: Mapping[Opening, str]
    lead_ins: str = ""
    tags: str = ""
    contrasts: str = ""
    marks: str = ""
    weak: str = ""
    is_spaced: bool = True

    def cues_in(self, sentence: str) -> frozenset[Cue]:
        """The cues that stand anywhere in a sentence, which is in lower case."""
        words = frozenset(_WORDS.findall(sentence))
        found = frozenset(
            cue
            for cue, heads, pattern in self._cue_patterns
            if (heads is None or not heads.isdisjoint(words)) and pattern.search(sentence)
        )
        return found | {Cue.REPLACEMENT} if self._contrast_pattern.search(sentence) else found

    def openings_of(self, sentence: str) -> frozenset[Opening]:
        return frozenset(opening for opening, pattern in self._opening_patterns if pattern.match(sentence))

    def is_question(self, sentence: str) -> bool:
        """Whether its last clause asks, of a sentence that ends in a question mark."""
        last = sentence.rstrip(" ?？!.)").replace("，", ",").rpartition(",")[2].strip()
        return self._tag_pattern.search(sentence) is not None or Opening.QUESTION in self.openings_of(last)

    @cached_property
    def mark_words(self) -> frozenset[str]:
        """The small words that tell it from the others."""
        return frozenset(self.marks.split())

    @cached_property
    def empty_words(self) -> frozenset[str]:
        """Words that only lead to what is said: "ok", "please", "let's"."""
        phrases = f"{self.lead_ins}, {self.cues[Cue.REQUEST]}, {self.cues.get(Cue.PERSON, '')}"
        return frozenset(re.split(r"[\s,/]+", phrases))

    @cached_property
    def _tag_pattern(self) -> re.Pattern[str]:
        before = r"[,，\s]" if self.is_spaced else ""
        return re.compile(rf"{before}(?:{_alternatives(self.tags, self.is_spaced)})\s*[?？][\s?？)!.]*$")

    @cached_property
    def _contrast_pattern(self) -> re.Pattern[str]:
        words = _alternatives(self.contrasts, self.is_spaced)
        gap = r"\s+" if self.is_spaced else ""
        return re.compile(rf"\w{{2}}[,，、]\s*(?:{words}){gap}\w{{2}}")

    @cached_property
    def _cue_patterns(self) -> tuple[tuple[Cue, frozenset[str] | None, re.Pattern[str]], ...]:
        """Each with the words of which a sentence has to have one, where there are such: most have none, and
        to look for words is much faster than to look for patterns."""
        begins, ends = (_BEGINS, _ENDS) if self.is_spaced else ("", "")
        return tuple(
            (
                cue,
                _heads(phrases) if self.is_spaced else None,
                re.compile(f"{begins}(?:{_alternatives(phrases, self.is_spaced)}){ends}"),
            )
            for cue, phrases in self.cues.items()
        )

    @cached_property
    def _opening_patterns(self) -> tuple[tuple[Opening, re.Pattern[str]], ...]:
        end = _ENDS if self.is_spaced else ""
        lead_ins = _alternatives(self.lead_ins, self.is_spaced)
        lead = rf"(?:(?:{lead_ins}){end}[\s,.!:;、，-]{{0,4}}){{0,4}}" if lead_ins else ""
        return tuple(
            (opening, re.compile(rf"\W{{0,4}}{lead}(?:{_alternatives(phrases, self.is_spaced)}){end}"))
            for opening, phrases in self.openings.items()
        )


def phrases_of(table: str) -> list[str]:
    """The phrases of a table, which stand apart by commas or lines; the longest first, to be tried first."""
    phrases = {" ".join(phrase.split()) for line in table.splitlines() for phrase in line.split(",")}
    return sorted(phrases - {""}, key=lambda phrase: (-len(phrase), phrase))


def _alternatives(table: str, is_spaced: bool) -> str:
    return "|".join(_phrase(phrase, is_spaced) for phrase in phrases_of(table))


def _heads(table: str) -> frozenset[str] | None:
    """The words that the phrases begin with; None where one may begin with any."""
    forms = [form for phrase in phrases_of(table) for form in phrase.partition(" ")[0].split("/")]
    if any("*" in form or form == "_" for form in forms):
        return None
    return frozenset(word for form in forms for word in _WORDS.findall(form)[:1])


def _phrase(phrase: str, is_spaced: bool) -> str:
    if not is_spaced:
        return rf".{{0,{_GAP_CHARS_MAX}}}?".join(re.escape(part) for part in phrase.split("~"))
    words = phrase.split(" ")
    parts: list[str] = []
    for word, behind in zip(words, [*words[1:], ""], strict=True):
        if word == "~":
            parts.append(rf"(?:{_WORD},?\s+){{0,{_GAP_WORDS_MAX}}}?")
        else:
            # A gap may begin behind a comma: "denk daran, den Test zu starten".
            parts.append(_one_of(word) + (r",?\s+" if behind == "~" else r"\s+" * bool(behind)))
    return "".join(parts)


def _one_of(word: str) -> str:
    if word == "_":
        return _WORD
    forms = [re.escape(form).replace(r"\*", r"[\w'-]*") for form in word.split("/")]
    return forms[0] if len(forms) == 1 else f"(?:{'|'.join(forms)})"
