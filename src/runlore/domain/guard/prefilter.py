"""Which rule is tried where: one pass over the text finds every anchor of every rule.

Ordinary prose has next to no anchors and costs only this pass.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Protocol, cast

import ahocorasick

from runlore.domain.guard.assignment import find_assignment
from runlore.domain.guard.finding import Finding
from runlore.domain.guard.providers import SHAPES
from runlore.domain.guard.shapes import find_shape
from runlore.domain.guard.structures import (
    MANIFEST_KIND,
    find_armoured_key,
    find_bearer,
    find_manifest,
    find_marker,
    find_netrc,
    find_password_option,
    find_phrase,
    find_putty_key,
    find_signature,
    find_signed_token,
    find_user_option,
    find_userinfo,
)
from runlore.domain.guard.view import View
from runlore.domain.guard.vocabulary import NAME_ANCHORS

Detector = Callable[[View, int, int], Finding | None]

STRUCTURES: tuple[tuple[Detector, tuple[str, ...]], ...] = (
    (find_marker, ("redacted", "filtered]", "masked]", "scrubbed]")),
    (find_armoured_key, ("-----begin",)),
    (find_putty_key, ("putty-user-key-file",)),
    (find_signed_token, ("eyj",)),
    (find_userinfo, ("://",)),
    (find_user_option, ("-u", "--user")),
    (find_bearer, ("bearer ",)),
    (find_netrc, ("machine ",)),
    (find_password_option, ("sshpass", "docker login", "redis-cli", "mysql")),
    (find_signature, ("?sig=", "&sig=", ";sig=", "x-amz-signature=", "x-goog-signature=")),
    (find_phrase, ("mnemonic", "phrase")),
    (find_manifest, (MANIFEST_KIND,)),
)


class Automaton(Protocol):
    """The part of the Aho-Corasick automaton that is used."""

    def iter(self, text: str, /) -> Iterator[tuple[int, tuple[int, tuple[Detector, ...]]]]: ...


def hits(lower: str) -> Iterator[tuple[Detector, int, int]]:
    """Every detector to be tried on a text in lower case, with the span of the anchor that asks for it."""
    for last, (size, detectors) in _automaton().iter(lower):
        for detector in detectors:
            yield detector, last + 1 - size, last + 1


@cache
def _automaton() -> Automaton:
    by_anchor: dict[str, list[Detector]] = defaultdict(list)
    for detector, anchors in STRUCTURES:
        for anchor in anchors:
            by_anchor[anchor].append(detector)
    for shape in SHAPES:
        for anchor in shape.anchors:
            by_anchor[anchor].append(partial(find_shape, shape))
    for word in NAME_ANCHORS:
        by_anchor[word].append(find_assignment)
    automaton = ahocorasick.Automaton()
    for anchor, detectors in by_anchor.items():
        automaton.add_word(anchor, (len(anchor), tuple(detectors)))
    automaton.make_automaton()
    return cast("Automaton", automaton)
