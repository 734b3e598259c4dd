"""Finds what covers a suggestion without comparing it with every other one.

What was found is kept by what it says, the strongest first; a number whose bits stand for all of them answers
in one step which of them say a thing. Few are left to be compared, and mostly the first of them covers.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field

from runlore.domain.detectors.match import Heuristic
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.covering import (
    ALIKE_SHARE,
    PROCEDURES,
    Found,
    covers,
    default_toolchain,
    said_by,
    strength,
)


def told_by(found: Sequence[Found]) -> tuple[tuple[Found, tuple[Found, ...]], ...]:
    """Those that nothing stronger covers, the strongest first, each with those that it covers."""
    chosen: dict[str, tuple[Found, list[Found]]] = {}
    rivals = Rivals()
    for one in sorted(found, key=strength):
        # Another heuristic may have found the very same.
        covering = one if one.pattern in chosen else rivals.covering(one)
        if covering is None:
            chosen[one.pattern] = (one, [])
            rivals.add(one)
        else:
            chosen[covering.pattern][1].append(one)
    return tuple((one, tuple(covered)) for one, covered in chosen.values())


@dataclass(kw_only=True)
class Rivals:
    """What was chosen so far. A mask has the bit of each place in `found` of which something is true."""

    found: list[Found] = field(default_factory=list)
    masks: dict[Hashable, int] = field(default_factory=dict)

    def add(self, one: Found) -> None:
        """Take in one that nothing covers."""
        bit = 1 << len(self.found)
        self.found.append(one)
        for key in _keys(one):
            self.masks[key] = self.masks.get(key, 0) | bit

    def covering(self, one: Found) -> Found | None:
        """The strongest that covers this one; None where none does."""
        return next((other for other in self.candidates(one) if covers(other, one)), None)

    def candidates(self, one: Found) -> Iterator[Found]:
        """Those that may cover it, the strongest first."""
        mask = self._alike(one) if not one.is_fix else self._any(_fix_keys(one))
        while mask:
            lowest = mask & -mask
            yield self.found[lowest.bit_length() - 1]
            mask ^= lowest

    def _any(self, keys: Iterator[Hashable]) -> int:
        mask = 0
        for key in keys:
            mask |= self._of(key)
        return mask

    def _of(self, key: Hashable) -> int:
        return self.masks.get(key, 0)

    def _alike(self, one: Found) -> int:
        """Those that say the same, all of it and more, or nearly it where both were seen in one place."""
        said = said_by(one)
        toolchain = default_toolchain(one.forms)
        if not said:
            return 0
        mask = self._of(("same", said))
        if toolchain:
            mask |= self._of((toolchain, one.heuristic)) | self._of((toolchain, Heuristic.CROSS_SESSION))
        is_procedure = one.heuristic in PROCEDURES
        if not is_procedure and one.heuristic is not Heuristic.REPEATED_ACTION:
            return mask
        missing = self._missing(said, int(len(said) * (1 - ALIKE_SHARE) + 1e-9) if is_procedure else 0)
        mask |= missing[0] & self._of(("heuristic", Heuristic.CROSS_SESSION))
        if is_procedure:
            here = self._of("procedure")
            for project in one.projects:
                here &= self._of(("project", project))
            mask |= missing[0] & here
            for number, alike in enumerate(missing):
                # So many things it may say for what both say to be nearly all that either says.
                most = int((len(said) - number) / ALIKE_SHARE - number + 1e-9)
                mask |= alike & here & self._any(("size", size) for size in range(1, most + 1))
        return mask

    def _missing(self, said: frozenset[str], most: int) -> list[int]:
        """For each number up to the last, those that say all of this but so many things at most."""
        masks = [(1 << len(self.found)) - 1] * (most + 1)
        for form in said:
            has = self._of(("said", form))
            for number in range(most, 0, -1):
                masks[number] &= has | masks[number - 1]
            masks[0] &= has
        return masks


def _keys(one: Found) -> Iterator[Hashable]:
    """Under what one is looked for."""
    if one.is_fix:
        yield from _fix_keys(one)
        return
    said = said_by(one)
    yield "same", said
    yield from (("said", form) for form in said)
    yield "size", len(said)
    yield "heuristic", one.heuristic
    if toolchain := default_toolchain(one.forms):
        yield toolchain, one.heuristic
    if one.heuristic in PROCEDURES:
        yield "procedure"
        yield from (("project", project) for project in one.projects)


def _fix_keys(one: Found) -> Iterator[Hashable]:
    yield "fix", one.forms
    if one.forms[1:-1]:
        yield "between", one.forms[1:-1]
