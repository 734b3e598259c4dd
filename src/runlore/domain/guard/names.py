"""Which names promise a credential, in the spellings people and programs use.

`apiKey`, `API_KEY`, `api-key`, `x-api-key` and "API key" are the same two words here. A name is
judged by its words: what it names, what qualifies that, and what follows. `token_budget` is a
budget and `csrf-token` is public, so neither promises anything.
"""

from enum import IntEnum
from itertools import pairwise

from runlore.domain.guard.vocabulary import (
    ABOUT,
    AUTHS,
    CREDENTIAL_ENDINGS,
    DIGEST_WORDS,
    EXPLICIT_ENDINGS,
    EXPLICITS,
    KEY_QUALIFIERS,
    KEYS,
    NO_PASSWORDS,
    ONLY_FORMS,
    PASSWORD_ENDINGS,
    PASSWORDS,
    PLACES,
    PUBLIC,
    QUALIFIERS,
    SECRETS,
    SERVICES,
    SERVICES_OF_TWO_WORDS,
    TOKENS,
    UNREAL,
)

DIGITS = "0123456789"


class Promise(IntEnum):
    """How much a name says about its value; the more it says, the less the value has to show."""

    NOTHING = 0
    SERVICE = 1
    KEY = 2
    CREDENTIAL = 3
    EXPLICIT = 4
    PASSWORD = 5


def promise_of(words: tuple[str, ...], context: tuple[str, ...] = ()) -> Promise:
    """What a name promises, by its words and by the words in front of it in prose."""
    promises = [_noun_promise(word.rstrip(DIGITS)) for word in words]
    if not any(promises):
        return Promise.SERVICE if _names_service(words) and not _is_about(words) else Promise.NOTHING
    at = _noun_position(promises)
    before = (*context, *words[:at])
    if _is_about(words[at + 1 :]) or not UNREAL.isdisjoint(before) or not PLACES.isdisjoint(words[:at]):
        return Promise.NOTHING
    if promises[at] is not Promise.PASSWORD and not PUBLIC.isdisjoint(before):
        return Promise.NOTHING
    return Promise.EXPLICIT if _is_qualified(words[at], before) else promises[at]


def form_of(words: tuple[str, ...]) -> bytes | None:
    """The one form that a token of the service in a name can have, where there is only one."""
    return next((ONLY_FORMS[word] for word in words if word in ONLY_FORMS), None)


def names_digest(words: tuple[str, ...]) -> bool:
    """Whether a name says that its value tells one state of something from another, as a commit's does."""
    return any(word.startswith(DIGEST_WORDS) for word in words)


def words_of(name: str) -> tuple[str, ...]:
    """The words of an identifier: cut at punctuation, at capitals after small letters, after digits."""
    spaced: list[str] = []
    previous = " "
    for position, char in enumerate(name):
        if char.isalnum() and _begins_word(previous, char, name[position + 1 : position + 2]):
            spaced.append(" ")
        previous = char if char.isalnum() else " "
        spaced.append(previous)
    return tuple("".join(spaced).lower().split())


def _begins_word(previous: str, char: str, following: str) -> bool:
    if char.isupper():
        return previous.islower() or (previous.isupper() and following.islower())
    return previous.isdigit() and char.isalpha()


def _noun_promise(stem: str) -> Promise:
    if stem in PASSWORDS or (stem.endswith(PASSWORD_ENDINGS) and stem not in NO_PASSWORDS):
        return Promise.PASSWORD
    if stem in EXPLICITS or stem.endswith(EXPLICIT_ENDINGS):
        return Promise.EXPLICIT
    if stem in TOKENS or stem in SECRETS or stem in AUTHS or stem.endswith(CREDENTIAL_ENDINGS):
        return Promise.CREDENTIAL
    return Promise.KEY if stem in KEYS else Promise.NOTHING


def _noun_position(promises: list[Promise]) -> int:
    """Where the noun of a name stands: the first that says enough by itself, or else the last."""
    for at, promise in enumerate(promises):
        if promise >= Promise.EXPLICIT:
            return at
    return max(at for at, promise in enumerate(promises) if promise)


def _is_qualified(noun: str, before: tuple[str, ...]) -> bool:
    stem = noun.rstrip(DIGITS)
    if not before or stem in AUTHS or _noun_promise(stem) > Promise.CREDENTIAL:
        return False
    qualifiers = KEY_QUALIFIERS if stem in KEYS else QUALIFIERS
    return before[-1] in qualifiers or before[-1] in SECRETS or _names_service(before)


def _is_about(after: tuple[str, ...]) -> bool:
    return bool(after) and (after[-1] in ABOUT or after[0] in ABOUT)


def _names_service(words: tuple[str, ...]) -> bool:
    return not SERVICES.isdisjoint(words) or any(pair in SERVICES_OF_TWO_WORDS for pair in pairwise(words))
