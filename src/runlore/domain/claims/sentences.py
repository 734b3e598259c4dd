"""A text as sentences, with what each of them says, denies and leaves in doubt: what `support` compares.

A sentence is read with the heading that it stands under and with what is said of it behind it. Where a text
is given to be worked on, reading ends: nothing of that is said by whoever gives it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache, cached_property

from runlore.domain.claims import support_words as table
from runlore.domain.claims.clauses import (
    COLON,
    GAP,
    Clause,
    clauses_in,
    depicts,
    depicts_above,
    introduces,
    is_of_speaker,
    is_order,
    wanted_thing,
)
from runlore.domain.claims.sentence_parts import (
    WORDS_MAX,
    foreign_doubts,
    is_hedge,
    is_ordered,
    parts_of,
    without_lead_in,
)
from runlore.domain.claims.wording import Word, fold_wording, is_unspaced, read_words
from runlore.domain.lazy import dataclass
from runlore.domain.text.analysis import is_stop_word, tokenize
from runlore.domain.text.excerpt import ELLIPSIS
from runlore.domain.text.inline_spans import code_spans, mask_spans, quotations
from runlore.domain.text.pasted import remove_blocks


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """What is compared of a sentence: `negated` are the terms that its negations turn round.

    `places` are the words that the terms stand in, `pauses` those with a comma behind them, and `clauses`
    where something is stated in it.
    """

    words: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    pauses: frozenset[int] = frozenset()
    clauses: tuple[Clause, ...] = ()
    negated: Counter[str]
    doubts: Counter[str]
    is_doubtful: bool = False

    @cached_property
    def term_set(self) -> frozenset[str]:
        """Its terms, each once."""
        return frozenset(self.terms)

    @cached_property
    def past_terms(self) -> frozenset[str]:
        """Its terms that stand in a past form: "we used Bazel" does not say that we use it."""
        words = zip(self.terms, self.places, strict=True)
        return frozenset(term for term, place in words if self.words[place].endswith("ed"))

    @cached_property
    def links(self) -> tuple[int, ...]:
        """The words that tie a value to a subject."""
        return tuple(at for at, word in enumerate(self.words) if word in table.LINKS)

    @cached_property
    def linked_at(self) -> int:
        """How many of its terms stand before its link; none where it has no link between two of them."""
        before = sum(place < self.links[0] for place in self.places) if self.links else 0
        return before if before < len(self.terms) else 0

    @cached_property
    def is_unspaced(self) -> bool:
        """Whether its words are not told apart by spaces, so that none tells where a clause begins."""
        return any(is_unspaced(word) for word in self.words)

    def join_next(self, other: "Sentence") -> "Sentence":
        """The two as one, in which the second one is about what the first one names."""
        shift = len(self.words)
        return Sentence(
            words=self.words + other.words,
            terms=self.terms + other.terms,
            places=(*self.places, *(place + shift for place in other.places)),
            pauses=self.pauses | {place + shift for place in other.pauses},
            clauses=tuple(Clause(0, clause.start + shift) for clause in other.clauses[:1]),
            negated=self.negated + other.negated,
            doubts=self.doubts + other.doubts,
            is_doubtful=self.is_doubtful or other.is_doubtful,
        )


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of a text, each with the heading that it stands under, up to where a text is given."""
    read: list[Sentence] = []
    labelled: set[int] = set()
    wanted: set[str] = set()
    is_made_up, told_until = False, 0
    for heading, line in _lines(remove_blocks(text)):
        is_cut = line.rstrip().endswith(ELLIPSIS)
        is_offered = _compiled(_OFFERED).search(line) is not None
        parts = list(parts_of(_words_of(line)))
        above = _heading(heading) if heading else None
        is_mentioned = False
        last = 0
        for index, part in enumerate(parts):
            if read and (_takes_back(part[0]) or _asks_back(part[0])):
                read[last:] = [replace(each, is_doubtful=True) for each in read[last:]]
            last = len(read)
            for clause in part:
                meant = without_lead_in(clause)
                sentence = _read(meant, is_cut=is_offered or (is_cut and index == len(parts) - 1))
                is_labelled = len(meant) < len(clause) and clause[0].is_label
                if depicts_above(sentence.words):
                    told_until = len(read)
                if is_labelled:
                    labelled.add(len(read))
                if not is_labelled and (is_mentioned or is_made_up):
                    sentence = _of_speaker(sentence) if not is_mentioned else replace(sentence, clauses=())
                sentence = _beside(sentence, wanted) if wanted else sentence
                wanted.update(plain_terms(" ".join(wanted_thing(sentence.words))))
                is_made_up = is_made_up or depicts(sentence.words)
                is_mentioned = is_mentioned or (COLON in sentence.words and is_order(sentence.words))
                read.append(sentence if above is None else _under(above, sentence))
    for at, each in enumerate(read):
        yield _of_speaker(each) if at < told_until and at not in labelled else each


def _words_of(line: str) -> list[Word]:
    """The words of a line. What the speaker puts in brackets comes last, as a sentence of its own."""
    if GAP not in (gapped := _with_gaps(_compiled(_GLUED_LABEL).sub(r"\1: ", line))) and ":" not in gapped:
        is_worked_on = not table.TEXT_WORK.isdisjoint(fold_wording(line).split())
        asides = [] if is_worked_on else _compiled(_OWN_ASIDE).findall(gapped)
        gapped = ". ".join([_compiled(_OWN_ASIDE).sub("", gapped), *asides]) if asides else gapped
    for pattern, plain in _PLAIN_FORMS:
        gapped = _compiled(pattern).sub(plain, gapped)
    spaced = _compiled(_UNSPACED_STOP).sub(r"\1 ", _compiled(_DASH).sub(", ", gapped))
    return [
        Word(table.SLIPS.get(word.core, word.core), word.tail) for word in read_words(fold_wording(spaced))
    ]


def _beside(sentence: Sentence, wanted: set[str]) -> Sentence:
    """What a sentence states of other things than what was asked for: that is not there yet."""
    kept = []
    for clause in sentence.clauses:
        terms = (term for term, at in zip(sentence.terms, sentence.places, strict=True) if at >= clause.start)
        is_pronoun = sentence.words[clause.start : clause.start + 1] in (("it",), ("they",), ("its",))
        if next(terms, "") not in wanted and not is_pronoun:
            kept.append(clause)
    return replace(sentence, clauses=tuple(kept))


def plain_terms(text: str) -> list[str]:
    """The terms of a text, where a verb has one form: "kept" is "keep", as "stored" is "store" anyway."""
    return [table.IRREGULAR.get(term, term) for term in tokenize(text)]


def _of_speaker(sentence: Sentence) -> Sentence:
    """What a sentence states of whoever speaks."""
    kept = tuple(clause for clause in sentence.clauses if is_of_speaker(sentence.words, clause))
    return replace(sentence, clauses=kept)


def _heading(text: str) -> Sentence:
    """What stands above a sentence. Where it is no topic and introduces no statements, they are doubtful."""
    words = without_lead_in(read_words(fold_wording(text)))
    while len(words) > 1 and words[0].core in table.DETERMINERS:
        del words[0]
    sentence = _read(words)
    if text.endswith("know:"):
        return Sentence(negated=Counter(), doubts=Counter())  # "Things you should know:"
    is_label = bool(words) and words[0].core in table.LABELS
    is_open = bool(words) and words[0].core in table.DOUBTFUL_LABELS
    is_plain = (not text.endswith(":") and not is_open) or is_label or introduces(sentence.words)
    return sentence if is_plain else replace(sentence, is_doubtful=True)


def _with_gaps(line: str) -> str:
    """A line in which quotations and code of several words have a sign before them, and no ends inside."""
    code = code_spans(line)
    quoted, _ = quotations(mask_spans(line, code))
    parts: list[str] = []
    done = 0
    for start, end in sorted([*code, *quoted]):
        if start >= done and " " in line[start:end].strip():
            parts += line[done:start], f" {GAP} ", _compiled(_STOPS).sub(" ", line[start:end])
            done = end
    return "".join([*parts, line[done:]])


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Lines with what governs them: a heading, and a line that ends in a colon up to the next gap."""
    heading, opening, is_governing = "", "", False
    for line in _joined_lines(text):
        if line.startswith("#"):
            heading, opening = line.lstrip("#").strip(), ""
        elif not line:
            opening = "" if is_governing else opening
        else:
            if opening.endswith("?") and line.casefold().startswith(("answer:", "result:")):
                opening = ""
            yield f"{heading} {opening}".strip(), line
            is_label = line.casefold() in table.DOUBTFUL_LABELS
            is_governing = not line.endswith(":") and not is_label and not _offers(line)
            opening = opening if is_governing else line


def _offers(line: str) -> bool:
    """Whether a line offers those below it to choose from: "Which one is right?"."""
    last = _compiled(r"[.!?:]\s").split(line)[-1].split(maxsplit=1)
    return line.endswith("?") and bool(last) and last[0].casefold() in table.CHOOSING


def _joined_lines(text: str) -> Iterator[str]:
    """Lines without list markers; one that only goes on with the line before is joined to it."""
    pending: list[str] = []
    for raw in (*text.splitlines(), ""):
        line = raw.strip()
        is_labelled = line.partition(":")[0].casefold() in table.LABELS
        is_new = not line or line.startswith("#") or is_labelled or _ITEM.match(line) is not None
        goes_on = line.partition(" ")[0] in table.GOING_ON
        if pending and (is_new or (_is_complete(pending[-1]) and not goes_on)):
            yield " ".join(pending)
            pending = []
        if not line or line.startswith("#"):
            yield line
        else:
            pending.append(_ITEM.sub("", line))


def _is_complete(line: str) -> bool:
    """Whether a line of wrapped text can end a sentence: not behind "that", a comma or "not"."""
    words = read_words(fold_wording(line))
    if not words or line.endswith((",", "-", "–", "—")):
        return False
    last = words[-1]
    return bool(last.tail.strip("\"')]}")) or not (is_stop_word(last.core) or last.core in _OPEN_ENDED)


def _takes_back(words: Sequence[Word]) -> bool:
    """Whether a sentence denies the one before: "No.", "That is not true.", "Scratch that."."""
    first, second = words[0], words[1].core if len(words) > 1 else ""
    if first.core in table.CORRECTIONS or tuple(word.core for word in words[:3]) in table.MAKE_IT_SO:
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
        and any(word.core in table.NEGATIONS | table.REVERSALS - table.FAILURES for word in words)
    )


def _asks_back(words: Sequence[Word]) -> bool:
    """Whether a sentence asks whether the one before is so: "Do you agree?", "Please verify."."""
    is_doubt = "?" in words[-1].tail and any(word.core in table.AGREEMENT for word in words)
    return len(words) <= _DENIAL_WORDS_MAX and (is_doubt or _asks_to_check(words))


def _asks_to_check(words: Sequence[Word]) -> bool:
    """Whether words end in an order to check what they say: "..., please confirm that"."""
    last = next((at for at in reversed(range(len(words))) if words[at].core not in table.ANAPHORS), 0)
    if words[last].core not in table.CHECKS:
        return False
    return not last or "," in words[last - 1].tail or words[last - 1].core in {"please", "pls", "and"}


def _tokens(words: Sequence[Word]) -> Iterator[tuple[str, bool]]:
    """The words, with a colon as one of its own, and whether a comma stands behind each."""
    for word in words:
        yield word.core, "," in word.tail
        if word.is_label:
            yield COLON, False


def _read(words: Sequence[Word], *, is_cut: bool = False) -> Sentence:
    tokens = list(_tokens(words))
    is_long = len(words) > WORDS_MAX
    cores = [core for core, _ in tokens]
    kinds = [_kind(cores, index) for index in range(len(cores))]
    heard = [at for at, kind in enumerate(kinds) if kind is not _Kind.NOTHING]
    spoken = [cores[at] for at in heard]
    pauses = frozenset(place for place, at in enumerate(heard) if tokens[at][1])
    terms = [plain_terms(core) if kind is _Kind.SAID else [] for core, kind in zip(cores, kinds, strict=True)]
    if len(cores) > 1 and cores[0] in table.DEFINITE_ARTICLES:
        terms[0] = []  # "Unsere Datenbank ist ..." says what "Die Datenbank ist ..." says
    negated = Counter(_target(terms, index) for index, kind in enumerate(kinds) if kind is _Kind.NEGATION)
    said = [core for core, kind in zip(cores, kinds, strict=True) if kind is _Kind.SAID]
    negated[UNSPACED_TARGET] = sum(len(_find_unspaced(_UNSPACED_NEGATION, core)) for core in said)
    doubts = Counter(core for core, kind in zip(cores, kinds, strict=True) if kind is _Kind.DOUBT)
    doubts.update(found for core in said for found in _find_unspaced(_UNSPACED_DOUBT, core))
    doubts.update(foreign_doubts(" ".join(cores)))
    return Sentence(
        words=tuple(spoken),
        terms=tuple(term for each in terms for term in each),
        places=tuple(place for place, at in enumerate(heard) for _ in terms[at]),
        pauses=pauses,
        clauses=() if is_long else clauses_in(spoken, pauses),
        negated=+negated,
        doubts=doubts,
        is_doubtful=is_cut or is_long or _asks(words) or is_ordered(cores),
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
    is_doubt = is_hedge(core, before) or core in table.DOUBTS or (core, behind) in table.DOUBT_PAIRS
    return _Kind.DOUBT if is_doubt else _Kind.SAID


def _target(terms: Sequence[Sequence[str]], index: int) -> str:
    """What a negation turns round: the next term, or the last one before it where nothing follows."""
    behind = next((each[0] for each in terms[index + 1 :] if each), "")
    return behind or next((each[-1] for each in reversed(terms[:index]) if each), "")


def _asks(words: Sequence[Word]) -> bool:
    if not words:
        return False
    marked = any(mark in word.tail for word in words for mark in "?？؟")
    label = words[0].is_label and words[0].core in table.DOUBTFUL_LABELS
    asked = any(_find_unspaced(_UNSPACED_QUESTION, word.core) for word in words)
    opening = tuple(word.core for word in words[:2])
    opened = words[0].core in table.QUESTION_OPENERS or opening in table.EXAMPLES
    return marked or label or asked or opened or _has_tag(words) or _asks_to_check(words)


def _has_tag(words: Sequence[Word]) -> bool:
    """Whether a statement ends as a question: "..., isn't it", "..., right"."""
    pauses = [at for at, word in enumerate(words) if "," in word.tail]
    tag = words[pauses[-1] + 1 :] if pauses else ()
    return 0 < len(tag) <= _TAG_WORDS_MAX and all(word.core in table.TAGS for word in tag)


def _under(heading: Sentence, sentence: Sentence) -> Sentence:
    """A sentence with what its heading adds: "Never do this:" turns round every item below it."""
    if not (heading.negated or heading.doubts or heading.is_doubtful):
        return sentence
    return heading.join_next(sentence)


def _find_unspaced(pattern: str, core: str) -> list[str]:
    """What a pattern finds in a word of a script that is written without spaces; such words are runs."""
    return _compiled(pattern).findall(core) if not core.isascii() and is_unspaced(core) else []


# Compiled when a text first needs them: most commands verify nothing.
_compiled = cache(re.compile)
_UNSPACED_NEGATION = table.UNSPACED_NEGATION
_UNSPACED_DOUBT = table.UNSPACED_DOUBT
_UNSPACED_QUESTION = table.UNSPACED_QUESTION
_UNSPACED_STOP = "([。！？；])"
UNSPACED_TARGET = "\0"
_GLUED_LABEL = rf"(?i)(?:^|(?<=[.!?;] ))({'|'.join(sorted(table.LABELS))}):(?=[^\s:/\\=])"
_DASH = r"(?<=\w)\s+[–—-]+\s+(?=\w)"
# "We're", "I'm using fish", "the docs can be found in wiki/", "the reason it fails is that ...", "contrary to
# the README, ...", "the linter we use is ruff", "ruff is what we use", "we agreed last week to ...".
# What is stressed in front goes back: "it is the worker that sends mails", "there is a job that ...".
# Behind "a chance that ..." or "a rumor that ..." the clause is not of that noun.
_NOUNS = (
    r"(?!(?:\S+\s){0,3}?(?:belief|case|chance|claim|danger|doubt|evidence|fact|fear|feeling|goal|guess|hint|hope|idea|"
    r"impression|intention|news|notion|plan|possibility|proof|proposal|reason|report|requirement|risk|rule|rumou?r|"
    r"sign|story|suggestion|suspicion|theory|thought|view|wish)\s)[\w-]+(?:\s[\w-]+){0,3}?"
)
_PLACE = r"(?:at|by|from|in|on|through|to|under|via|with)\s[^\s,.;:!?]+(?:\s[^\s,.;:!?]+){0,3}?"
_RELATIVE = (
    r"(?:who\s(?=[a-z])|(?:that|which)\s(?=(?:is|was|has|can|cannot|must|will|[a-z]{2,}s)\s"
    r"(?!(?:is|are|was|were|have|has|do|does|can|will|must)\s)))"
)
_PLAIN_FORMS = (
    (r"(?i)\b(we|they)['’]re\b", r"\1 are"),
    (r"(?i)\b(we|they|i)['’]ve\b", r"\1 have"),
    (r"(?i)\bi['’]m\b", "I am"),
    (r"(?i)\b(i|we|they)\s(?:am|are)\s(?:still\s)?using\b", r"\1 use"),
    (r"(?i)\byou\s(?:can|will)\sfind\s((?:[^\s,]+\s){1,5}?)(?=(?:in|under|at|on)\s)", r"\1are "),
    (r"(?i)\b(?:can|may)\sbe\sfound(?=\s(?:in|under|at|on)\s)", "are"),
    (r"(?i)^the\s(?:reason|problem|issue)\s(?:[^\s,.:;]+\s){0,6}?(?:is|was)\sthat\s", ""),
    (r"(?i)^(?:unlike|contrary\sto|despite|in\sspite\sof)\s(?:what\s)?(?:the|my|our)\s[^,.:;]{1,60},\s", ""),
    (
        r"(?i)(?:\s(?:that|which))?\s(?:we|i)\s(?:use|have|run|(?:are|am)\s(?:us|runn)ing)(?=\s(?:is|are)\s)",
        "",
    ),
    (r"(?i)^((?:\S+\s){1,5}?)(?:is|are)\swhat\s((?:we|i)\s\w+)", r"\2 \1"),
    (r"(?i)\b(agreed|decided)\s(?:yesterday|today|(?:last|this)\s\w+)\b", r"\1"),
    (r"(?i)\b(have|has)\sgot\b(?!\sto\b)", r"\1"),
    (r"(?i)\bgets\s(?=\w+ed\b)", "is "),
    (r"(?i)(\b\w+s\s)get\s(?=\w+ed\b)", r"\1are "),
    # "in Docker, not on the host": only where both are places.
    (rf"(?i)\b({_PLACE}),\snot\s{_PLACE}(?=[.!;]|$)", r"\1"),
    (
        rf"(?i)(^|[.!?]\s)it(?:['’]s|\s(?:is|was))\s((?:(?:the|our|my)\s{_NOUNS}|(?-i:[A-Z])\w+)\s){_RELATIVE}",
        r"\1\2",
    ),
    (rf"(?i)(^|[.!?]\s)there(?:['’]s|\sis)\s((?:an?|one)\s{_NOUNS}\s){_RELATIVE}", r"\1\2"),
)
_OWN_ASIDE = r"(?i)\s*\(((?:our|we|i|my|btw|fyi|by the way|note that)[\s,:][^()]{,200})\)"
_STOPS = r"[.!?;:,。！？；](?=\s|$|[\"'”’»)\]`])|[。！？；]"
_ITEM = re.compile(r"^(?:[-*+•·▪◦>]|\d{1,3}[.)])\s+")
_OPEN_ENDED = table.NEGATIONS | table.DOUBTS
# An open box, "[ ] ...", a choice, "A) ...", and what an arrow points back to, "... <- change this".
_OFFERED = (
    r"(?:^|\s)\[\s?\]\s|^\(?[A-Za-z]\)\s|^[A-Za-z]\.\s+(?:[Tt]he|[Aa]n?|[Oo]ur|[Ww]e|[Ii]t)\s|\s(?:<-+|←)\s"
)
_DENIAL_WORDS_MAX = 6
_TAG_WORDS_MAX = 3
