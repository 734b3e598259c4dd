"""Whose sessions the learning bench fits on, and whose it sets aside.

Chosen on 16 November 2026 from counts alone (sessions, lines of gold), before any text of theirs was read:
two of the thirteen people of the development sessions with enough statements, and two of the four whose
sessions are all there. A person is set aside with every session of theirs, in all folders. People are known
by the beginning of the SHA-256 of the name of their home folder: nobody's name stands in this repository.

These people are spent for procedures: they were looked at too often. So half of the sessions of everybody
else was set aside on 18 November 2026, before the rules for fixes were written anew, by a digest of names.
"""

import hashlib

SET_ASIDE = frozenset({"4d588af1", "68523fb8", "0357513d", "c84a9e3a"})


def person_id(name: str) -> str:
    """What somebody is known by here."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def is_set_aside(person: str) -> bool:
    """Whether nothing of this person may be looked at while anything is fitted."""
    return person in SET_ASIDE


def is_set_aside_half(stem: str) -> bool:
    """Whether a session of the people that are looked at is of the half that was set aside later."""
    return bool(hashlib.sha256(f"runlore-halves-1 {stem}".encode()).digest()[0] & 1)
