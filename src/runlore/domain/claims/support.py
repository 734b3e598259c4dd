"""Whether a text supports a statement: it says the same, with the same polarity, and means it (POL-9).

A clause counts when it states the same (POL-13): word for word, or with all of its terms, at least two, in
their order; "On Friday we deploy" and "Atlas is the codename" are turned round as a whole. `clauses` finds
what is stated: what an order, a quotation or a given text mentions is not. Questions, conditions, hearsay and
what is taken back support nothing; a negation has to be that of the statement. Where a text can be read in
two ways it says nothing: what is not supported is published provisionally, what is wrong reaches prompts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from runlore.domain.claims import support_words as table
from runlore.domain.claims.clauses import Clause, is_joined, is_limited, is_reached
from runlore.domain.claims.sentences import UNSPACED_TARGET, Sentence, plain_terms, sentences_of
from runlore.domain.claims.wording import fold_wording


class Support(StrEnum):
    """What the evidence says of a statement."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NONE = "none"


def support_of(content: str, texts: Iterable[str]) -> Support:
    """What the texts say of a statement, each on its own; nothing where they disagree."""
    claims = tuple(sentences_of(content))
    if not claims or any(claim.is_doubtful for claim in claims):
        return Support.NONE
    spoken = _OF_SPEAKER.sub(_as_spoken, _THERE_IS.sub("we have ", content))
    forms = (claims,) if spoken == content else (claims, tuple(sentences_of(spoken)))
    return _together(_judge_text(text, form) for text in texts for form in forms)


def _as_spoken(match: re.Match[str]) -> str:
    """Whoever speaks says "I prefer" and "my shell", of whom a record says "The user prefers"; "we" are a
    team and a project."""
    pronoun, mine = ("I", "my") if match[1].lower() == "user" else ("we", "our")
    adverb, verb = match[2], match[3]
    if verb == "'s":
        return mine
    be = "am" if pronoun == "I" else "are"
    return f"{pronoun}{adverb} {({'is': be, 'has': 'have'}).get(verb.strip(), verb.strip()[:-1])}"


def is_stated(content: str, text: str) -> bool:
    """Whether a text states a statement word for word."""
    claims = tuple(sentences_of(content))
    if not claims or not _may_tell(text, claims):
        return False
    sentences = tuple(sentences_of(text))
    return all(any(_is_repeated(claim, each) for each in sentences) for claim in claims)


def _is_repeated(claim: Sentence, sentence: Sentence) -> bool:
    is_literal = any(_is_stated_literally(claim, sentence, clause) for clause in sentence.clauses)
    return is_literal and _relation(claim, sentence) is Support.SUPPORTED


def _may_tell(text: str, claims: Sequence[Sentence]) -> bool:
    """Whether a text has the words of one of the claims at all: most have not, and need no closer look."""
    present = frozenset(plain_terms(fold_wording(text)))
    return any(present.issuperset(claim.terms) for claim in claims)


def _judge_text(text: str, claims: Sequence[Sentence]) -> Support:
    """What one text says of all sentences of a statement: each has to be supported, one can be refuted."""
    if not _may_tell(text, claims):
        return Support.NONE
    sentences = tuple(sentences_of(text))
    found = [_together(_relation(claim, each) for each in _windows(sentences)) for claim in claims]
    if Support.CONTRADICTED in found:
        return Support.CONTRADICTED
    return Support.SUPPORTED if set(found) == {Support.SUPPORTED} else Support.NONE


def _together(found: Iterable[Support]) -> Support:
    said = set(found) - {Support.NONE}
    return said.pop() if len(said) == 1 else Support.NONE


def _windows(sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    """Each sentence, and each with the next one where that goes on with it: "It has a name. It is Atlas."."""
    for index, sentence in enumerate(sentences):
        yield sentence
        following = sentences[index + 1] if index + 1 < len(sentences) else None
        if following is not None and following.words and following.words[0] in table.ANAPHORS:
            yield sentence.join_next(following)


def _relation(claim: Sentence, sentence: Sentence) -> Support:
    if sentence.is_doubtful or not _holds(claim, sentence) or claim.doubts != sentence.doubts:
        return Support.NONE
    if claim.negated == sentence.negated:
        return Support.SUPPORTED
    plain, turned = sorted((claim.negated, sentence.negated), key=Counter.total)
    is_opposite = not plain and turned.total() == 1 and set(turned) <= {*claim.terms, UNSPACED_TARGET}
    return Support.CONTRADICTED if is_opposite else Support.NONE


def _holds(claim: Sentence, sentence: Sentence) -> bool:
    """Whether a sentence states a statement, whatever else it says about it."""
    if not sentence.term_set.issuperset(claim.terms) or not claim.words:
        return False
    if claim.is_unspaced:
        return _run_at(claim.words, sentence.words, 0) is not None or (
            len(claim.term_set) >= _TERMS_MIN
            and _find_terms(claim.terms, sentence, 0, len(sentence.words)) is not None
        )
    return any(_is_stated(claim, sentence, clause) for clause in sentence.clauses)


def _is_stated(claim: Sentence, sentence: Sentence, clause: Clause) -> bool:
    if _is_stated_literally(claim, sentence, clause):
        return True
    if len(claim.term_set) < _TERMS_MIN or not _is_same_person(claim.words, sentence.words, clause):
        return False
    if not sentence.past_terms & claim.term_set <= claim.past_terms:
        return False
    return any(_matches(claim, sentence, clause, split) for split in _splits(claim, sentence, clause))


def _is_stated_literally(claim: Sentence, sentence: Sentence, clause: Clause) -> bool:
    place = _run_at(claim.words, sentence.words, clause.front)
    if place is None or len(claim.words) == 1:
        return place is not None
    is_whole = not is_limited(sentence.words, sentence.pauses, place, place + len(claim.words) - 1)
    return is_whole and is_reached(sentence.words, clause.start, place)


def _is_same_person(claim: Sequence[str], words: Sequence[str], clause: Clause) -> bool:
    """Whether somebody is said to do it who does it in the statement: "use tabs" does not say that we do."""
    wanted = claim[0]
    if wanted not in table.SUBJECT_PRONOUNS:
        return True
    said = words[clause.start] if clause.start < len(words) else ""
    return said == wanted or {said, wanted} <= table.FIRST_PERSON


def _splits(claim: Sentence, sentence: Sentence, clause: Clause) -> Iterator[tuple[int, int]]:
    """Which of the terms are looked for from the subject on; the others stand in front of it."""
    count = len(claim.terms)
    yield 0, count
    if clause.front < clause.start:
        front = {term for term, at in zip(sentence.terms, sentence.places, strict=True) if at < clause.start}
        yield from ((0, end) for end in range(count - 1, 0, -1) if claim.terms[end] in front)
        yield from ((begin, count) for begin in range(1, count) if claim.terms[begin - 1] in front)


def _matches(claim: Sentence, sentence: Sentence, clause: Clause, split: tuple[int, int]) -> bool:
    begin, end = split
    terms, at = claim.terms, claim.linked_at
    if _find_terms((*terms[:begin], *terms[end:]), sentence, clause.front, clause.start) is None:
        return False
    if not at:
        return _is_one_clause(sentence, clause, terms[begin:end], None)
    if end > at and _is_one_clause(sentence, clause, terms[begin:end], max(0, at - begin)):
        return True
    if begin:
        return False
    turned = (*terms[at:], *terms[:at])
    is_turned = end == len(terms) and _is_one_clause(sentence, clause, turned, len(terms) - at)
    return is_turned or _is_done_by_us(claim, sentence, clause, end)


def _is_done_by_us(claim: Sentence, sentence: Sentence, clause: Clause, end: int) -> bool:
    """Whether the speaker says that he does what is done: "We keep notes in Joplin", "Notes are kept in ...".
    The terms from `end` on stand in front: "For notes we use Joplin". Between verb and thing no more may
    stand than an article: "old notes" are not all notes."""
    at, words = claim.linked_at, sentence.words
    if not at or end <= at:
        return False
    verb, *rest = claim.terms[at:end]
    wanted = (verb, *claim.terms[:at], *rest)
    if words[clause.start] not in table.SPEAKERS or not _is_one_clause(sentence, clause, wanted, None):
        return False
    found = _find_terms(wanted, sentence, clause.start, len(words)) or ()
    between = {*range(clause.start + 1, found[at] + 1)} - {*found}
    return all(words[place] in table.DETERMINERS | table.ADVERBS for place in between)


def _is_one_clause(sentence: Sentence, clause: Clause, terms: Sequence[str], linked_at: int | None) -> bool:
    """Whether a clause has these terms, the first of them as its subject; with one link behind so many of
    them, and with none where that is None."""
    found = _find_terms(terms, sentence, clause.start, len(sentence.words))
    if found is None:
        return False
    links = [at for at in sentence.links if clause.start <= at < found[-1]]
    subject = found[0]
    if linked_at is None:
        is_tied = not links
    else:
        is_tied = len(links) == 1 and links[0] <= found[linked_at]
        if linked_at:
            is_tied = is_tied and found[linked_at - 1] < links[0]
        else:
            # The subject stands in front: "Let us talk about the project. It is late."
            subject = min([subject, *links])
    words = sentence.words
    limited = is_limited(words, sentence.pauses, found[0], found[-1])
    if not is_tied or limited or _says_more(sentence, found, links):
        return False
    return is_reached(words, clause.start, subject) and is_joined(words, sentence.pauses, found)


def _says_more(sentence: Sentence, found: Sequence[int], links: Sequence[int]) -> bool:
    """Whether the subject is another one than that of the terms: "The port on Bob's laptop is ..." tells of
    that port alone, and "Atlas's successor" is not Atlas."""
    known = {*found}
    if any(sentence.words[at].endswith("'s") and at + 1 not in known for at in found):
        return True
    return bool(links) and any(found[0] < at < links[0] and at not in known for at in sentence.places)


def _find_terms(terms: Sequence[str], sentence: Sentence, start: int, end: int) -> tuple[int, ...] | None:
    """The words that terms stand in, in their order; None where one of them is missing."""
    rest = ((term, at) for term, at in zip(sentence.terms, sentence.places, strict=True) if start <= at < end)
    found: list[int] = []
    for wanted in terms:
        place = next((at for term, at in rest if term == wanted), None)
        if place is None:
            return None
        found.append(place)
    return tuple(found)


def _run_at(part: Sequence[str], whole: Sequence[str], start: int) -> int | None:
    """Where words stand side by side, first."""
    room = len(whole) - len(part)
    places = (at for at in range(start, room + 1) if whole[at : at + len(part)] == part)
    return next(places, None)


_TERMS_MIN = 2
_THERE_IS = re.compile(r"(?i)^there (?:is|are) ")
_OF_SPEAKER = re.compile(
    r"(?i)^(?:the )?(user|team|project)( [a-z]+ly| always| never| often|)('s| [a-z]+s)(?= \w)"
)
