"""What a statement is about: its subject, its value and its polarity, as one key that can be compared.

Equal keys say the same thing; equal subjects with another answer to the same question contradict each
other (`question` tells the questions apart). The rules are tables of words, read once from left to right, and
they are careful: a statement that is not clearly "subject, delimiter, value" is not split. Its whole text is
then the subject, and only its own negation contradicts it. Nothing here stems, translates or asks a model.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Self, TypeAlias

from runlore.domain import limits
from runlore.domain.claims import subject_words as table
from runlore.domain.claims.normal_forms import order_parts, plain_parts, turn_round
from runlore.domain.claims.question import claim_of, is_asked
from runlore.domain.claims.wording import Word, fold_wording, is_unspaced, read_words
from runlore.domain.lazy import dataclass
from runlore.domain.text.analysis import is_stop_word, tokenize

SUBJECT_WORDS_MAX = 12
TOPIC_TERMS_MAX = 12
TOPIC_TERM_CHARS_MAX = 40
SLUG_CHARS_MAX = 64
SLUG_FALLBACK = "procedure"

Words: TypeAlias = Sequence[Word]


@dataclass(frozen=True, kw_only=True)
class SemanticKey:
    """A statement in comparable form. `value` is empty where the statement could not be split."""

    subject: str
    value: str = ""
    negated: bool = False

    @property
    def text(self) -> str:
        """The form that is stored: `subject = value`, `subject != value`, `subject` or `subject !=`."""
        subject = re.sub(r"([\\=!])", r"\\\1", self.subject)
        if self.value:
            return f"{subject} {'!=' if self.negated else '='} {self.value}"
        return f"{subject} !=" if self.negated else subject

    @property
    def place(self) -> str:
        """What a preference that says this is kept under: one place for each question about a subject."""
        if not self.value or _NAMES_QUESTION.search(self.subject):
            return self.subject
        question = claim_of(self.subject, self.value).name
        return _bound_part(f"{self.subject} ({question})") if question else self.subject

    @property
    def topic(self) -> str:
        """What the statement is about: its subject, with what it does where a verb tells that."""
        return (
            f"{self.subject} {self.value.translate(_NO_BRACKETS)}" if self.value[:1] == "[" else self.subject
        )

    @property
    def meaning(self) -> tuple[str, bool, frozenset[object]]:
        """What is compared of a statement: other words for it mean the same, as "on Friday" and "Fridays"."""
        claim = claim_of(self.subject, self.value)
        said = claim.answers or claim.sides or dict(enumerate(tokenize(self.value) or [self.value]))
        return self.subject, self.negated, frozenset({*said.items(), *claim.context})

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the stored form back. A text that is not one is a subject."""
        match = _STORED.fullmatch(text)
        if match is None:
            return cls(subject=text)
        subject, operator, value = match.groups()
        subject = re.sub(r"\\(.)", r"\1", subject, flags=re.DOTALL)
        return cls(subject=subject, value=value or "", negated=operator == "!=")


# Every new episode is compared with a page of earlier ones.
@lru_cache(maxsize=2 * limits.LIST_LIMIT_MAX)
def semantic_key(content: str) -> SemanticKey:
    """The key of a statement. Case, spacing, articles and trailing punctuation do not change it."""
    text = fold_wording(content)
    words = _statement(read_words(_TAKING_PLACE.sub("tourne", _GLUED_ASSIGNMENT.sub(r"\1 \2 ", text))))
    if not words:
        return SemanticKey(subject=_bound_part(text))
    condition, words = _condition(words)
    cut = _first_cut(words)
    return _key_of_cut(condition, cut) if cut else _key_of_sentence(condition, words)


def key_of_parts(subject: str, value: str) -> SemanticKey:
    """The key of a subject and a value that are given apart, as in a profile proposal."""
    return _key_of_cut((), _Cut(left=_part(subject), right=_part(value)))


def conflicts(one: SemanticKey, other: SemanticKey) -> bool:
    """Whether the two cannot both hold: another answer to the same question about the same subject.

    What is not so leaves open what is: "not MySQL" and "PostgreSQL" both hold.
    """
    if one.subject != other.subject or one == other:
        return False
    if one.value == other.value or not (one.value and other.value):
        return True
    answer, against = (claim_of(each.subject, each.value) for each in (one, other))
    if not _NAMES_QUESTION.search(one.subject) and not answer.meets(against):
        return False
    if answer.agrees(against):
        return one.negated != other.negated and not answer.excepts(against)
    return not (one.negated or other.negated)


def topic_terms(statement: SemanticKey | str) -> tuple[str, ...]:
    """The terms of the subject, in order: words that can be a topic, so perhaps none."""
    key = semantic_key(statement) if isinstance(statement, str) else statement
    words = (word.strip("[]()'\"") for word in key.topic.split())
    return tuple(dict.fromkeys(word for word in words if _is_topic(word)))[:TOPIC_TERMS_MAX]


def slug(text: str) -> str:
    """A name for a workflow: Latin letters without their marks, other scripts as they are, `-` between.

    A text too long for a name is cut, and ends in a hash so that two long texts keep two names.
    """
    decomposed = unicodedata.normalize("NFD", fold_wording(text).translate(_LATIN))
    plain = unicodedata.normalize("NFC", _MARKS_ON_LATIN.sub("", decomposed))
    kept = (char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in plain)
    name = "-".join("".join(kept).split())
    if len(name) <= SLUG_CHARS_MAX:
        return name or SLUG_FALLBACK
    suffix = _digest(name)[:8]
    return f"{name[: SLUG_CHARS_MAX - len(suffix) - 1].rstrip('-')}-{suffix}"


_STORED = re.compile(r"((?:[^\\=!]|\\.)*?)(?: (!?=)(?: (.*))?)?", re.DOTALL)
# `name=value` without spaces names a value only where a text begins with it; elsewhere it is a flag or a URL.
_GLUED_ASSIGNMENT = re.compile(r"^\s*([\w.-]*\w)(:=|!=|={1,3})(?=[^\s=<>~])")
_TAKING_PLACE = re.compile(r"\b(?:a|ont) lieu\b")
_LATIN = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "þ": "th", "ı": "i"})
_MARKS_ON_LATIN = re.compile("(?<=[a-z])[\u0300-\u036f]+")
# A subject that was split at a verb says what its value is asked for.
_NAMES_QUESTION = re.compile(r"\[.*\]|\bprefer\b")
_NO_BRACKETS = str.maketrans("", "", "[]")
_FRENCH_NOT_REACH = 3
_ALWAYS_OR_BREAK = table.BREAKS | table.NEGATIONS | {"always"}


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """A statement in two parts, neither of them empty."""

    left: Words
    right: Words
    language: str = table.SYMBOL
    negated: bool = False


def _statement(words: Words) -> Words:
    """The words without list marker, label ("Note:"), lead-in ("Remember that") and articles."""
    if (
        len(words) > 1
        and words[0].tail in (".", ")")
        and (words[0].core.isdigit() or len(words[0].core) == 1)
    ):
        words = words[1:]
    if len(words) > 1 and words[0].core in table.LABELS and words[0].is_label:
        words = words[1:]
    for lead_in in table.LEAD_INS:
        if len(words) > len(lead_in) and tuple(word.core for word in words[: len(lead_in)]) == lead_in:
            words = words[len(lead_in) :]
    return _without_articles(turn_round(words))


def _part(text: str) -> Words:
    return _without_articles(read_words(fold_wording(text))) or [Word(fold_wording(text))]


def _without_articles(words: Words) -> Words:
    """Without English articles that have a word to stand before: the A of "Plan A is" stays."""
    kept = []
    for index, word in enumerate(words):
        follows = words[index + 1].core if index + 1 < len(words) else "="
        before_noun = follows[0].isalnum() and follows not in table.BREAKS and follows not in table.COPULAS
        if word.core not in table.ENGLISH_ARTICLES or word.tail or not before_noun:
            kept.append(word)
    return kept


def _condition(words: Words) -> tuple[Words, Words]:
    """An opening "When the cache is cold," or "In CI," apart from the statement that it limits."""
    if words[0].core in table.SUBORDINATORS | table.PREPOSITIONS:
        for index, word in enumerate(words[:-1]):
            if word.is_label:
                break
            if "," in word.tail:
                return words[: index + 1], words[index + 1 :]
    return (), words


def _first_cut(words: Words) -> _Cut | None:
    """The statement cut at its first delimiter that has a subject before it and a value behind it."""
    present = {word.core for word in words}
    for index, word in enumerate(words[: SUBJECT_WORDS_MAX + 1]):
        language = _language(word, present)
        if language or word.core in table.OPERATORS:
            left, right = words[:index], words[index + 1 :]
        elif word.is_label:
            left, right = words[: index + 1], words[index + 1 :]
        elif word.ends_sentence:
            return None
        else:
            continue
        if left and (_is_stand_in(left) or (language and _is_clause(left))):
            return None
        if right and _is_subject(left):
            negated = word.core == "不是" or table.OPERATORS.get(word.core, False)
            return _Cut(left=left, right=right, language=language, negated=negated)
    return None


def _language(word: Word, present: set[str]) -> str:
    evidence = table.EVIDENCE.get(word.core, present)
    return table.COPULAS.get(word.core, table.SYMBOL) if present & evidence else table.SYMBOL


def _is_stand_in(left: Words) -> bool:
    """Whether a pronoun stands where a subject should; a relative one only if nothing is before it."""
    last = left[-1].core
    return last in table.PRONOUNS and (len(left) == 1 or last not in table.RELATIVES)


def _is_clause(left: Words) -> bool:
    opens = left[0].core in table.QUESTIONS | table.SUBORDINATORS
    return opens or any(word.core in table.CLAUSE_VERBS for word in left)


def _is_subject(left: Words) -> bool:
    if not left or left[-1].core in table.RELATIVES:
        return False
    text = _join(left)
    return sum(char.isalnum() for char in text) >= 2 or is_unspaced(text)


def _key_of_cut(condition: Words, cut: _Cut) -> SemanticKey:
    left, right, negated = list(cut.left), list(_without_always(cut.right)), cut.negated
    if len(left) > 1 and left[-1].core == "ne" and right[0].core in table.FRENCH_NOT and len(right) > 1:
        left, right, negated = left[:-1], right[1:], not negated
    elif len(left) > 1 and cut.language == "es" and left[-1].core == "no":
        left, negated = left[:-1], not negated
    elif len(right) > 1 and cut.language == "fr" and right[0].core == "pas":
        right, negated = right[1:], not negated
    for part in (left, right):
        length = _negation_length(part, 0)
        if 0 < length < len(part):
            del part[:length]
            negated = not negated
    if len(right) > 2 and cut.language and right[0].core in ("set", "equal") and right[1].core == "to":
        right = right[2:]
    if cut.language:
        right = _without_leading_article(right, cut.language)
    subject = [*condition, *_without_leading_article(list(_without_ours(left)), cut.language)]
    return _split_key(_join(subject), _join(right), negated=negated)


def _without_leading_article(words: list[Word], language: str) -> list[Word]:
    if len(words) > 1 and words[0].core in table.ARTICLES.get(language, ()):
        return words[1:]
    if language in ("fr", table.SYMBOL) and words[0].core.startswith("l'") and len(words[0].core) > 2:
        return [Word(words[0].core[2:], words[0].tail), *words[1:]]
    return words


def _key_of_sentence(condition: Words, words: Words) -> SemanticKey:
    """The key of a statement without a delimiter: split at a verb of the tables, or not split."""
    if words[0].core in table.SUBORDINATORS:
        return _unsplit_key(_join([*condition, *words]), negated=False)
    words, negated = _lift_negation(words)
    before = _join(condition)
    is_noun = len(words) > 1 and words[1].core in _LEMMAS and words[1].core not in table.THINGS
    if not is_noun and (parts := order_parts(words)) is not None:
        return _split_key(f"{before} {parts[0]}".strip(), parts[1], negated=negated)
    for index, word in enumerate(words):
        if word.core in table.BREAKS:
            break
        parts = _verb_parts(words, index)
        if parts is not None:
            return _split_key(f"{before} {parts[0]}".strip(), parts[1], negated=negated)
        if word.core in table.CHOICES:
            break
    return _unsplit_key(_join([*condition, *words]), negated=negated)


def _verb_parts(words: Words, index: int) -> tuple[str, str] | None:
    """What does something and what it does, where the word at an index is the verb and says one answer."""
    verb = words[index].core
    choice = _choice_parts(words, index) if verb in table.CHOICES else None
    if choice is not None or index == 0 or index + 1 == len(words):
        return choice
    subject, said = words[:index], words[index + 1 :]
    is_noun = subject[-1].core in table.PREPOSITIONS or _is_verb(words, index + 1)
    is_other = _is_stand_in(subject) and subject[0].core not in table.SPEAKERS
    if is_noun or is_other or any(word.ends_sentence for word in words[:-1]):
        return None
    if verb in table.OWNING and len(said) < SUBJECT_WORDS_MAX and not _is_stand_in(subject):
        return _join(said), f"{table.OWNING[verb]} by {_join(subject)}"
    done = _verb_value(verb, said)
    if done and verb in _OF_ARTICLES:
        subject = _without_leading_article(list(subject), table.SYMBOL)
    return (_join(_without_ours(subject)), done) if done else None


def _verb_value(verb: str, words: Words) -> str:
    """What is kept of a verb and the words behind it; nothing where they leave room for other answers."""
    said = [word.core for word in words if word.core != "sich"] or [""]
    if verb in table.EQUALLING:
        return " ".join(said)
    if verb in ("belong", "belongs") and said[0] == "to" and len(said) > 1:
        end = next((at for at, word in enumerate(words) if "," in word.tail), len(words))
        return f"owned by {_join(words[1 : end + 1])}"
    if verb in table.BEING and said[0] in table.PREPOSITIONS:
        return " ".join(said)
    if verb in table.CALLING:
        return f"called {' '.join(said)}"
    lemma = _LEMMAS.get(verb, "")
    said = said[1:] if lemma and said[0] in table.REALLY and len(said) > 1 else said
    return f"[{lemma}] {' '.join(said)}" if lemma and is_asked(lemma, said) else ""


def _is_verb(words: Words, index: int) -> bool:
    """Whether the word before is a noun, and this one its verb: the "run" of "unit tests run in CI"."""
    if index + 1 >= len(words) or words[index].core not in _LEMMAS:
        return False
    return words[index - 1].core.endswith("s") != words[index].core.endswith("s")


def _without_ours(words: Words) -> Words:
    count = next((at for at, word in enumerate(words) if word.core not in table.OURS), 0)
    return words[count:] if count < len(words) else words


def _choice_parts(words: Words, index: int) -> tuple[str, str] | None:
    """Subject and value of a preference or use, where the statement names the question that it answers."""
    if _goes_on(words[index + 1 :]):
        return None
    verb = table.CHOICES[words[index].core]
    chooser, chosen = ([word.core for word in part] for part in (words[:index], words[index + 1 :]))
    while len(chosen) > 1 and chosen[0] in ("to", "use", "using"):
        chosen = chosen[1:]
    chosen, purpose = _split_before(chosen, table.PURPOSES)
    winner, loser = _split_before(chosen, table.SET_ASIDE)
    rival = next((word for word in winner if word in table.RIVALS), None)
    if rival is not None:
        name = table.RIVALS[rival]
        question = [f"[{name}]" if word == rival else word for word in winner if not _is_number(word)]
        if any(table.RIVALS.get(word) == name for word in loser):
            loser = []
    elif verb == "prefer" and loser:
        aside = " ".join(word for word in loser if word not in table.SET_ASIDE and word != "of")
        question, loser = [f"[{' | '.join(sorted((' '.join(winner), aside)))}]"], []
    elif verb == "prefer" and winner and purpose[:1] == ["for"]:
        question = []
    else:
        return None
    if len(chooser) == 1 and chooser[0] in table.USER:
        chooser = ["user"]
    return " ".join([*chooser, verb, *question, *purpose]), " ".join([*winner, *loser])


def _goes_on(chosen: Words) -> bool:
    """Whether more than one thing is said of more than one choice: "tabs and spaces", "tabs, use spaces"."""
    more = table.BREAKS - table.PURPOSES - table.SET_ASIDE | table.AUXILIARIES
    listed = any(
        "," in word.tail and follower.core not in table.SET_ASIDE for word, follower in pairwise(chosen)
    )
    return listed or any(word.core in more or word.ends_sentence for word in chosen[:-1])


def _split_before(words: list[str], stops: frozenset[str]) -> tuple[list[str], list[str]]:
    at = next((index for index, word in enumerate(words) if index and word in stops), len(words))
    return words[:at], words[at:]


def _is_number(word: str) -> bool:
    return word.isdigit() or word in table.NUMBERS


def _lift_negation(words: Words) -> tuple[Words, bool]:
    """The statement without its first negation. A later one stays among the words: two do not cancel."""
    after_auxiliary = True
    for index, word in enumerate(words):
        if word.core in table.BREAKS:
            break
        rest = _without_french_not(words, index)
        length = _negation_length(words, index)
        if length and (after_auxiliary or word.core != "not"):
            rest = _without_negation(words, index, length)
        if rest:
            return rest, True
        after_auxiliary = word.core in table.AUXILIARIES or (after_auxiliary and index > 0)
        if "," in word.tail or word.ends_sentence:
            break
    return _without_always(words), False


def _negation_length(words: Words, index: int) -> int:
    """How many words from here negate what follows: "no longer", "never", the "no" of "no tests"."""
    word = words[index]
    if tuple(follower.core for follower in words[index : index + 2]) in table.NO_LONGER:
        return 2
    if word.core == "nicht" and index > 0 and (word.tail or index + 1 == len(words)):
        return 1  # German closes a clause with it
    if word.core not in table.NEGATIONS or word.tail or index + 1 == len(words):
        return 0
    return 0 if words[index + 1].core in table.NOT_ONLY else 1


def _without_negation(words: Words, index: int, length: int) -> list[Word]:
    before, after = list(words[:index]), list(words[index + length :])
    helper = before[-1].core if before and words[index].core == "not" else ""
    if helper in ("do", "does"):
        before.pop()
    if helper == "does" and after:
        after[0] = Word(_third_person(after[0].core), after[0].tail)
    return before + after


def _without_french_not(words: Words, index: int) -> list[Word] | None:
    reach = range(index + 1, min(index + 1 + _FRENCH_NOT_REACH, len(words)))
    end = next((at for at in reach if words[at].core in table.FRENCH_NOT), None)
    if words[index].core != "ne" or end is None:
        return None
    return [*words[:index], *words[index + 1 : end], *words[end + 1 :]]


def _third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return f"{verb[:-1]}ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


_LEMMAS = {form: verb for verb in table.VERBS for form in (verb, _third_person(verb))}
_LEMMAS |= {verb: verb for verb in table.FOREIGN_VERBS}
_OF_ARTICLES = table.FOREIGN_VERBS | table.FOREIGN_BEING | table.CALLING | table.EQUALLING


def _without_always(words: Words) -> Words:
    """ "Always use tabs" says what "use tabs" says; "not always" keeps its word."""
    marks = (index for index, word in enumerate(words) if word.core in _ALWAYS_OR_BREAK)
    at = next(marks, None)
    if at is None or words[at].core != "always" or len(words) == 1:
        return words
    return [*words[:at], *words[at + 1 :]]


def _split_key(subject: str, value: str, *, negated: bool) -> SemanticKey:
    """A key whose subject is written alike, with hyphens or spaces, its place before or behind it."""
    if _NAMES_QUESTION.search(subject) is None:
        subject, value = plain_parts(subject, value)
    return SemanticKey(subject=_bound_part(subject), value=_bound_part(value), negated=negated)


def _unsplit_key(text: str, *, negated: bool) -> SemanticKey:
    return SemanticKey(subject=_bound_part(text), negated=negated)


def _join(words: Words) -> str:
    return " ".join(word.core for word in words)


def _bound_part(part: str) -> str:
    """The part, or its beginning and its hash. The `…` cannot come from a text: folding spells it out."""
    if len(part) <= limits.PROFILE_KEY_CHARS_MAX:
        return part
    digest = _digest(part)[:32]
    return f"{part[: limits.PROFILE_KEY_CHARS_MAX - len(digest) - 1]}…{digest}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _is_topic(word: str) -> bool:
    if is_stop_word(word) or word in table.NO_TOPIC or len(word) > TOPIC_TERM_CHARS_MAX or "…" in word:
        return False
    return sum(char.isalnum() for char in word) >= 2 or is_unspaced(word)
