"""Whether a text supports a statement: it says the same, with the same polarity, and means it (POL-9).

A sentence counts when it holds the statement word for word, or all of its terms, at least two, in their order
(or turned round as a whole: "On Friday we deploy"). Questions, conditions, hearsay and what is taken back
support nothing; a negation has to be that of the statement. Where a text can be read in two ways it says
nothing: learnings that are not supported are published provisionally, wrong ones reach prompts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property

from runlore.domain import support_words as table
from runlore.domain.analysis import is_stop_word, terms_of
from runlore.domain.excerpt import ELLIPSIS
from runlore.domain.wording import Word, folded, is_unspaced, read_words


class Support(StrEnum):
    """What the evidence says of a statement."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NONE = "none"


def support_of(content: str, texts: Iterable[str]) -> Support:
    """What the texts say of a statement, each on its own; nothing where they disagree."""
    claims = tuple(_sentences(content))
    if not claims or any(claim.is_doubtful for claim in claims):
        return Support.NONE
    return _together(_told_by(text, claims) for text in texts)


@dataclass(frozen=True, kw_only=True)
class _Sentence:
    """What is compared of a sentence: `negated` are the terms that its negations turn round."""

    words: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    negated: Counter[str]
    doubts: Counter[str]
    is_doubtful: bool = False

    @cached_property
    def held(self) -> frozenset[str]:
        """Its terms, each once."""
        return frozenset(self.terms)

    def followed_by(self, other: "_Sentence") -> "_Sentence":
        """The two as one."""
        return _Sentence(
            words=self.words + other.words,
            terms=self.terms + other.terms,
            negated=self.negated + other.negated,
            doubts=self.doubts + other.doubts,
            is_doubtful=self.is_doubtful or other.is_doubtful,
        )


def _told_by(text: str, claims: Sequence[_Sentence]) -> Support:
    """What one text says of all sentences of a statement: each has to be supported, one can be refuted."""
    present = frozenset(terms_of(folded(text)))
    if not any(present.issuperset(claim.terms) for claim in claims):
        return Support.NONE
    sentences = tuple(_sentences(text))
    found = [_together(_relation(claim, each) for each in _windows(sentences)) for claim in claims]
    if Support.CONTRADICTED in found:
        return Support.CONTRADICTED
    return Support.SUPPORTED if set(found) == {Support.SUPPORTED} else Support.NONE


def _together(found: Iterable[Support]) -> Support:
    said = set(found) - {Support.NONE}
    return said.pop() if len(said) == 1 else Support.NONE


def _windows(sentences: Sequence[_Sentence]) -> Iterator[_Sentence]:
    """Each sentence, and each with the next one where that goes on with it: "It has a name. It is Atlas."."""
    for index, sentence in enumerate(sentences):
        yield sentence
        following = sentences[index + 1] if index + 1 < len(sentences) else None
        if following is not None and following.words and following.words[0] in table.ANAPHORS:
            yield sentence.followed_by(following)


def _relation(claim: _Sentence, sentence: _Sentence) -> Support:
    if sentence.is_doubtful or not _holds(claim, sentence) or claim.doubts != sentence.doubts:
        return Support.NONE
    if claim.negated == sentence.negated:
        return Support.SUPPORTED
    plain, turned = sorted((claim.negated, sentence.negated), key=Counter.total)
    is_opposite = not plain and turned.total() == 1 and set(turned) <= {*claim.terms, _UNSPACED_TARGET}
    return Support.CONTRADICTED if is_opposite else Support.NONE


def _holds(claim: _Sentence, sentence: _Sentence) -> bool:
    """Whether a sentence holds a statement, whatever else it says about it."""
    if not sentence.held.issuperset(claim.terms):
        return False
    return _is_part(claim.words, sentence.words) or (
        len(claim.held) >= _TERMS_MIN and _is_in_order(claim.terms, sentence.terms)
    )


def _is_part(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    room = len(whole) - len(part)
    return bool(part) and any(whole[at : at + len(part)] == part for at in range(room + 1))


def _is_in_order(wanted: tuple[str, ...], present: tuple[str, ...]) -> bool:
    turned = (wanted[at:] + wanted[:at] for at in range(len(wanted)))
    return any(_is_subsequence(each, present) for each in turned)


def _is_subsequence(wanted: Sequence[str], present: Iterable[str]) -> bool:
    rest = iter(present)
    return all(term in rest for term in wanted)


def _sentences(text: str) -> Iterator[_Sentence]:
    """The sentences of a text, each with the heading that it stands under."""
    read: list[_Sentence] = []
    for heading, line in _lines(text):
        is_cut = line.rstrip().endswith(ELLIPSIS)
        spaced = _compiled(_UNSPACED_STOP).sub(r"\1 ", line)
        parts = list(_parts(read_words(folded(spaced))))
        above = _read(_meant(read_words(folded(heading)))) if heading else None
        for index, part in enumerate(parts):
            if read and _takes_back(part):
                read[-1] = replace(read[-1], is_doubtful=True)
            sentence = _read(_meant(part), is_cut=is_cut and index == len(parts) - 1)
            read.append(sentence if above is None else _under(above, sentence))
    yield from read


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Lines with what governs them: a heading, and a line that ends in a colon up to the next gap."""
    heading, opening, is_governing = "", "", False
    for line in _joined_lines(text):
        if line.startswith("#"):
            heading, opening = line.lstrip("#").strip(), ""
        elif not line:
            opening = "" if is_governing else opening
        else:
            yield f"{heading} {opening}".strip(), line
            is_governing = not line.endswith(":")
            opening = opening if is_governing else line


def _joined_lines(text: str) -> Iterator[str]:
    """Lines without list markers; one that only goes on with the line before is joined to it."""
    pending: list[str] = []
    for raw in (*text.splitlines(), ""):
        line = raw.strip()
        is_new = not line or line.startswith("#") or _ITEM.match(line) is not None
        if pending and (is_new or _is_complete(pending[-1])):
            yield " ".join(pending)
            pending = []
        if not line or line.startswith("#"):
            yield line
        else:
            pending.append(_ITEM.sub("", line))


def _is_complete(line: str) -> bool:
    """Whether a line of wrapped text can end a sentence: not behind "that", a comma or "not"."""
    words = read_words(folded(line))
    if not words or line.endswith((",", "-", "–", "—")):
        return False
    last = words[-1]
    return bool(last.tail.strip("\"')]}")) or not (is_stop_word(last.core) or last.core in _OPEN_ENDED)


def _parts(words: Sequence[Word]) -> Iterator[list[Word]]:
    part: list[Word] = []
    for word in words:
        part.append(word)
        if _ends(word):
            yield part
            part = []
    if part:
        yield part


def _ends(word: Word) -> bool:
    if any(stop in word.tail for stop in "!?;。！？；؟"):
        return True
    is_short = len(word.core) < 2 or word.core in table.ABBREVIATIONS or "." in word.core
    return "." in word.tail and not is_short


def _meant(words: Sequence[Word]) -> list[Word]:
    """The words without labels and lead-ins, which say nothing themselves."""
    rest = list(words)
    is_shorter = True
    while is_shorter and len(rest) > 1:
        is_shorter = rest[0].core in table.LABELS and rest[0].is_label
        length = 1 if is_shorter else _lead_in(rest)
        is_shorter = 0 < length < len(rest)
        rest = rest[length:] if is_shorter else rest
    return rest


def _lead_in(words: Sequence[Word]) -> int:
    cores = tuple(word.core for word in words)
    return max((len(each) for each in table.LEAD_INS if cores[: len(each)] == each), default=0)


def _takes_back(words: Sequence[Word]) -> bool:
    """Whether a sentence denies the one before: "No.", "That is not true.", "Scratch that."."""
    first, second = words[0], words[1].core if len(words) > 1 else ""
    if first.core in table.CORRECTIONS:
        return True
    if first.core in table.DENIALS and (first.tail or len(words) <= _DENIAL_WORDS_MAX // 2):
        return True
    if first.core in table.RETRACTIONS and second in table.ANAPHORS:
        return True
    if (first.core, second) in (("never", "mind"), ("just", "kidding")):
        return True
    return (
        len(words) <= _DENIAL_WORDS_MAX
        and first.core in table.ANAPHORS
        and any(word.core in table.NEGATIONS | table.REVERSALS for word in words)
    )


def _read(words: Sequence[Word], *, is_cut: bool = False) -> _Sentence:
    cores = [word.core for word in words]
    kinds = [_kind(cores, index) for index in range(len(cores))]
    spoken = [core for core, kind in zip(cores, kinds, strict=True) if kind is not _Kind.NOTHING]
    terms = [terms_of(core) if kind is _Kind.SAID else [] for core, kind in zip(cores, kinds, strict=True)]
    negated = Counter(_target(terms, index) for index, kind in enumerate(kinds) if kind is _Kind.NEGATION)
    said = [core for core, kind in zip(cores, kinds, strict=True) if kind is _Kind.SAID]
    negated[_UNSPACED_TARGET] = sum(len(_found(_UNSPACED_NEGATION, core)) for core in said)
    doubts = Counter(core for core, kind in zip(cores, kinds, strict=True) if kind is _Kind.DOUBT)
    doubts.update(found for core in said for found in _found(_UNSPACED_DOUBT, core))
    return _Sentence(
        words=tuple(spoken),
        terms=tuple(term for each in terms for term in each),
        negated=+negated,
        doubts=doubts,
        is_doubtful=is_cut or len(words) > _SENTENCE_WORDS_MAX or _asks(words),
    )


class _Kind(StrEnum):
    """What a word does in its sentence."""

    SAID = "said"
    NEGATION = "negation"
    DOUBT = "doubt"
    NOTHING = "nothing"


def _kind(cores: Sequence[str], index: int) -> _Kind:
    core = cores[index]
    behind = cores[index + 1] if index + 1 < len(cores) else ""
    before = cores[index - 1] if index else ""
    if (before, core) in table.NO_LONGER:
        return _Kind.NOTHING
    if (core, behind) in table.NO_LONGER:
        return _Kind.NEGATION
    if core in table.NEGATIONS:
        return _Kind.DOUBT if behind in table.NOT_ONLY else _Kind.NEGATION
    if core == "ne":
        return _Kind.NOTHING
    if core in table.FRENCH_NOT and "ne" in cores[:index]:
        return _Kind.NEGATION
    return _Kind.DOUBT if core in table.DOUBTS else _Kind.SAID


def _target(terms: Sequence[Sequence[str]], index: int) -> str:
    """What a negation turns round: the next term, or the last one before it where nothing follows."""
    behind = next((each[0] for each in terms[index + 1 :] if each), "")
    return behind or next((each[-1] for each in reversed(terms[:index]) if each), "")


def _asks(words: Sequence[Word]) -> bool:
    if not words:
        return False
    marked = any(mark in word.tail for word in words for mark in "?？؟")
    label = words[0].is_label and words[0].core in table.DOUBTFUL_LABELS
    asked = any(_found(_UNSPACED_QUESTION, word.core) for word in words)
    return marked or label or asked or words[0].core in table.QUESTION_OPENERS


def _under(heading: _Sentence, sentence: _Sentence) -> _Sentence:
    """A sentence with what its heading adds: "Never do this:" turns round every item below it."""
    if not (heading.negated or heading.doubts or heading.is_doubtful):
        return sentence
    return heading.followed_by(sentence)


def _found(pattern: str, core: str) -> list[str]:
    """What a pattern finds in a word of a script that is written without spaces; such words are runs."""
    return _compiled(pattern).findall(core) if not core.isascii() and is_unspaced(core) else []


# Compiled when a text first needs them: most commands verify nothing.
_compiled = cache(re.compile)
_UNSPACED_NEGATION = table.UNSPACED_NEGATION
_UNSPACED_DOUBT = table.UNSPACED_DOUBT
_UNSPACED_QUESTION = table.UNSPACED_QUESTION
_UNSPACED_STOP = "([。！？；])"
_UNSPACED_TARGET = "\0"
_ITEM = re.compile(r"^(?:[-*+•·▪◦>]|\d{1,3}[.)])\s+")
_OPEN_ENDED = table.NEGATIONS | table.DOUBTS
_TERMS_MIN = 2
_DENIAL_WORDS_MAX = 6
# Longer ones are tables, logs and encoded data.
_SENTENCE_WORDS_MAX = 300
