"""Where in a sentence something is stated (POL-13): behind what leads to it, and nowhere inside of an order.

A statement begins with its subject. Before it stand at most adverbs, a place or a time ("In staging, ...") or
another statement that it is joined to. What stands behind anything else, "make sure", "a test where" or "fix
the bug:", is what that speaks of: it is mentioned, and stated by nobody.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from runlore.domain.claims import support_words as table
from runlore.domain.text.analysis import is_stop_word

COLON = ":"
GAP = "\ufffc"
"""A word of its own that stands before what is quoted: no subject is looked for behind it."""

_CLAUSES_MAX = 32


class Clause(NamedTuple):
    """A place where a statement may begin: `front` is where what places it begins, `start` its subject."""

    front: int
    start: int


def clauses_in(words: Sequence[str], pauses: Collection[int]) -> tuple[Clause, ...]:
    """Where statements may begin in a sentence; `pauses` are the words with a comma behind them."""
    found = [_clause_at(words, pauses, 0)]
    if depicts(words[: found[0].start]):
        return ()
    for place in _joints(words, pauses):
        if len(found) == _CLAUSES_MAX or not _may_go_on(words, found[0].start, place):
            break
        found.append(_clause_at(words, pauses, place))
    return tuple(found)


def is_reached(words: Sequence[str], start: int, place: int) -> bool:
    """Whether a subject that begins at `start` can be what stands at `place`: nothing is between but what
    belongs to a noun, or a pronoun with what belongs to its verb; and it is nobody else's."""
    before = words[start:place]
    is_near = all(word in table.BEFORE_SUBJECTS or word in table.ADVERBS for word in before)
    return is_near and table.OTHERS.isdisjoint(before)


def is_joined(words: Sequence[str], pauses: Collection[int], places: Sequence[int]) -> bool:
    """Whether the words at some places are of one clause: no relative clause begins between them, and behind
    "and" or a comma only what is listed."""
    for before, place in pairwise(places):
        between = range(before + 1, place)
        if any(words[at] in table.CLAUSE_OPENERS for at in between):
            return False
        joints = [at for at in (before, *between) if at in pauses or words[at] in table.COORDINATORS]
        if joints and any(words[at] not in table.LISTED for at in range(joints[-1] + 1, place)):
            return False
    return True


def is_order(words: Sequence[str]) -> bool:
    """Whether a sentence has the form of an order: a bare word that is no plural, and then what an object
    begins with."""
    if len(words) < 2 or words[0] in table.NO_ORDERS or words[1] not in table.OBJECT_OPENERS:
        return False
    return not words[0].endswith("s") or words[0].endswith(("ss", "us"))


def is_command(words: Sequence[str]) -> bool:
    """Whether words are an order beyond doubt: "fix the build" is one, "traffic from Graz" only looks so."""
    if len(words) < 2 or not table.LINKS.isdisjoint(words[1:3]):
        return False
    return words[0] in table.COMMANDS or (is_order(words) and words[1] in table.OBJECTS)


def depicts(words: Sequence[str]) -> bool:
    """Whether a sentence asks for something made up: what follows may tell of that and not of the world."""
    opening = words[1:2] if words and words[0] == "let's" else words[:1]
    if not table.COMPOSED.isdisjoint(wanted_thing(words)):
        return True
    is_placed = not table.PLACING.isdisjoint(opening) and not table.FICTION.isdisjoint(
        words[:_PLACE_WORDS_MAX]
    )
    is_role = tuple(words[:2]) == ("you", "are") and not table.ENGLISH_ARTICLES.isdisjoint(words[2:3])
    if is_placed or is_role or not table.DEPICTING.isdisjoint(opening):
        return True
    return is_order(words) and any(word in table.DEPICTED for word in words)


def wanted_thing(words: Sequence[str]) -> Sequence[str]:
    """The words for something new that is asked for: "a feature flag" of "add a feature flag for guests"."""
    opening = words[:_ORDER_WORDS_MAX]
    verb = next((at for at, word in enumerate(opening) if word in table.CREATING), len(words))
    new = next((at + 1 for at in range(verb + 1, min(verb + 3, len(words))) if words[at] in table.NEW), 0)
    if not new:
        return ()
    return words[new : next((at for at in range(new, len(words)) if words[at] in _THING_ENDS), len(words))]


def depicts_above(words: Sequence[str]) -> bool:
    """Whether a sentence calls what stands before it made up: "Implement this user story."."""
    is_pointing = not table.POINTING.isdisjoint(words) and not table.DEPICTED.isdisjoint(words)
    return is_pointing and is_order(words)


def is_limited(words: Sequence[str], pauses: Collection[int], first: int, last: int) -> bool:
    """Whether a statement, whose first and last words are given, says more than its words: a place or a time
    behind it or put in between commas, and a noun that its last word only belongs to ("public property")."""
    if last not in pauses and (_begins_limit(words, last + 1) or _goes_on(words, last + 1)):
        return True
    return any(at in pauses and _begins_limit(words, at + 1) for at in range(first, last))


def _begins_limit(words: Sequence[str], at: int) -> bool:
    limit, within = (*words[at : at + 2], "", "")[:2]
    return limit in table.LIMITING and within not in table.UNLIMITED


def _goes_on(words: Sequence[str], at: int) -> bool:
    """Whether a noun stands here, as far as one can be told by what it is not."""
    word = words[at] if at < len(words) else ""
    is_small = is_stop_word(word) or word in table.SMALL
    return word[:1].isalnum() and not is_small and not word.endswith(("ly", "ed"))


def is_of_speaker(words: Sequence[str], clause: Clause) -> bool:
    """Whether a statement is about whoever speaks: that is no part of what is made up."""
    return any(word in table.FIRST_PERSON for word in words[clause.front : clause.start + 2])


def introduces(words: Sequence[str]) -> bool:
    """Whether what stands before a colon introduces statements: "we agreed:", "Our conventions:"."""
    said = set(words)
    if is_order(words) or said & (table.DEPICTED | table.DEPICTING):
        return False
    return bool(said & (table.STATING_HEADS | table.SPEAKERS))


def _clause_at(words: Sequence[str], pauses: Collection[int], place: int) -> Clause:
    start = place
    while start < len(words):
        if words[start] in table.ADVERBS and start + 1 < len(words):
            start += 1
        elif words[start] in table.PLACING and (end := _placed_until(words, pauses, start)):
            start = end
        elif _is_time_in_front(words, pauses, start):
            start += 2
        else:
            break
    return Clause(place, start)


def _is_time_in_front(words: Sequence[str], pauses: Collection[int], at: int) -> bool:
    """Whether "every hour" stands before a subject, and is not one itself: "every day counts"."""
    if at + 3 >= len(words) or words[at] not in {"every", "each"} or words[at + 1] not in table.TIMES:
        return False
    is_subject = words[at + 2] in table.DETERMINERS | table.SUBJECT_PRONOUNS and words[at + 2] != "that"
    return is_subject or at + 1 in pauses


def _placed_until(words: Sequence[str], pauses: Collection[int], start: int) -> int:
    """Where "in this project" ends: at its comma, else behind its one noun. Of more words without a comma
    nobody knows where they end: "in staging ensure the port ..."."""
    noun = start + 1
    while noun < len(words) - 1 and words[noun] in table.DETERMINERS:
        noun += 1
    for at in range(noun, min(len(words) - 1, start + _PLACE_WORDS_MAX)):
        if at in pauses:
            return at + 1
        if words[at + 1] in table.DETERMINERS | table.SUBJECT_PRONOUNS | table.LINKS:
            break
    return noun + 1 if noun + 1 < len(words) else 0


def _joints(words: Sequence[str], pauses: Collection[int]) -> Iterator[int]:
    """Where a second clause may begin: behind a comma, behind "and", and behind a colon that introduces."""
    for at in range(len(words) - 1):
        is_colon = words[at] == COLON and introduces(words[:at])
        is_pause = at in pauses and words[at + 1] not in table.COORDINATORS
        if is_colon or is_pause or (at and words[at] in table.COORDINATORS):
            yield at + 1


def _may_go_on(words: Sequence[str], start: int, place: int) -> bool:
    """Whether what stands before a joint is a statement itself, so that another one can be joined to it."""
    said = words[start:place]
    if not said or GAP in said or (COLON in said and said[-1] != COLON):
        return False
    if not table.DEPICTED.isdisjoint(said):
        return False
    has_subject = said[0] in table.DETERMINERS | table.SUBJECT_PRONOUNS
    if not has_subject and (is_order(said) or not table.CLAUSE_OPENERS.isdisjoint(said)):
        return False
    return has_subject or any(word in table.LINKS for word in said)


_PLACE_WORDS_MAX = 8
_ORDER_WORDS_MAX = 4
_THING_ENDS = (table.SMALL | table.GOING_ON | {COLON}) - table.NEW
