"""Other forms of one statement, brought into one form before its key is read.

"Priya is the owner of the app" names the owner of the app, "Format code with black" what code is formatted
with, and "the database in staging" is the staging database.
"""

import re
from collections.abc import Sequence

from runlore.domain.claims import question_words as questions
from runlore.domain.claims import subject_words as table
from runlore.domain.claims.answers import answers_in, is_path
from runlore.domain.claims.wording import Word


def turn_round(words: Sequence[Word]) -> Sequence[Word]:
    """The words with the role first where they end in it: "Priya is the owner" is "owner is Priya"."""
    cores = [word.core for word in words]
    link = next((at for at in range(1, min(4, len(cores) - 2)) if cores[at] in table.COPULAS), 0)
    if not link or cores[link + 1] not in _DEFINITE or cores[0] in _DEFINITE | table.PRONOUNS:
        return words
    role = cores[link + 2 :]
    head = role[role.index("of") - 1] if "of" in role[1:] else role[-1]
    is_whole = not any(word.tail for word in words[:-1])
    if head not in table.ROLES or not is_whole:
        return words
    return [*words[link + 2 : -1], Word(cores[-1]), words[link], *words[:link]]


def order_parts(words: Sequence[Word]) -> tuple[str, str] | None:
    """What an order asks, and its answer: "format code [with]" and "black"; none where it leaves room."""
    cores = [word.core for word in words]
    is_one_clause = not any(word.tail for word in words[:-1]) and table.BREAKS.isdisjoint(cores)
    if cores[0] not in table.ORDERS or not is_one_clause:
        return None
    if cores[0] == "use":
        at = cores.index("for") if "for" in cores[2:4] else 0
        is_many = cores[at - 1].endswith("s") and cores[at - 1] not in questions.FAMILY_OF
        is_one = bool(at) and at + 1 < len(cores) and not is_many
        return (f"use [one] {' '.join(cores[at:])}", " ".join(cores[1:at])) if is_one else None
    at = next((at for at in range(len(cores) - 2, 0, -1) if cores[at] in table.ORDER_PREPOSITIONS), 0)
    about, opener, value = " ".join(cores[:at]), cores[at], " ".join(cores[at + 1 :])
    if not at or len(cores) - at > _VALUE_WORDS_MAX or value.startswith("-"):
        return None
    if opener in questions.ORDERING:
        return f"{about} [order] {value}", opener
    is_room = (
        (opener == "in" and cores[0] not in table.WORDING)
        or (opener == "on" and not answers_in(cores[at:]))
        or (opener in ("to", "with") and (cores[0] in questions.ADDING or cores[0] == "test"))
    )
    if is_room or value in table.STAGES:
        return None
    return f"{about} [{_kind_of(value) if opener == 'in' else opener}]", value


def _kind_of(value: str) -> str:
    """What is "in" something: there, written so, or said so."""
    family = questions.FAMILY_OF.get(questions.ALIASES.get(value, value))
    if value in questions.PLACES or is_path(value) or family == "database":
        return "where"
    return "format" if value in questions.FORMATS else "language" if value in table.TONGUES else "in"


def plain_parts(subject: str, value: str) -> tuple[str, str]:
    """A subject and its value, with what a participle says as a name: "owned by Dana" as the owner."""
    text = _POSSESSIVE.sub("", _JOINED.sub(" ", subject))
    first = text.partition(" ")[0]
    for begins, noun in table.ATTRIBUTES.items():
        if value.startswith(begins):
            text = noun if text in table.WHOLES else f"{text} {noun}"
            value = value.removeprefix(begins)
    if first in table.SUBORDINATORS or first in table.QUESTIONS:
        return text, value
    if (placed := _PLACE_FIRST.fullmatch(text)) is not None:
        text = placed[1]
    elif (placed := _PLACE_LAST.fullmatch(text)) is not None:
        text = f"{placed[2]} {placed[1]}"
    return text, value


_DEFINITE = frozenset({"the", "our", "der", "die", "das", "le", "la", "unser", "unsere", "notre"})
_VALUE_WORDS_MAX = 2  # a preposition and a name: "with the blue script" may be one way of several
_JOINED = re.compile(r"(?<=[^\W_])[-_]+(?=[^\W_])")
_POSSESSIVE = re.compile(r"(?<=\w)'s(?= \w)")
_PLACE_FIRST = re.compile(r"(?:in|on|at|for) (\S+ .+)")
_PLACE_LAST = re.compile(r"(\S+(?: \S+){,3}?) (?:of|in|for) (\S+(?: \S+){,3})")
