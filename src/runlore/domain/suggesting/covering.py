"""Drops what another suggestion covers: the same commands are suggested once.

Where two heuristics found the same commands, the earlier of this order stays: what the user asked for, what
many sessions show, what the user corrected, what failed and was put right, a procedure, a repeated command.
A procedure covers shorter ones that it contains, and in the same project those that are nearly the same; the
one with more points stays. What a toolchain does by default is suggested once.

Finds what covers a suggestion without comparing it with every other one.

What was found is kept by what it says, the strongest first; a number whose bits stand for all of them answers
in one step which of them say a thing. Few are left to be compared, and mostly the first of them covers.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache

from runlore.domain.detectors.cross_session_rows import FORMS_CACHED_MAX, PRINTING
from runlore.domain.detectors.match import Heuristic
from runlore.domain.lazy import dataclass

# The stronger first; each with the points that its findings begin with, and why.
STRENGTH = {
    Heuristic.EXPLICIT_INSTRUCTION: (60, "the user asked for it"),
    Heuristic.CROSS_SESSION: (40, "several sessions show it"),
    Heuristic.USER_CORRECTION: (50, "the user corrected the command"),
    Heuristic.ERROR_RECOVERY: (40, "a failure was put right"),
    Heuristic.MULTI_STEP: (40, "the steps worked in a row"),
    Heuristic.REPEATED_ACTION: (40, "the command was run again and again"),
}
ALIKE_SHARE = 0.8
PROCEDURES = frozenset({Heuristic.CROSS_SESSION, Heuristic.MULTI_STEP})
_ORDER = {heuristic: place for place, heuristic in enumerate(STRENGTH)}


# What everybody who works with a toolchain runs untold.
_EVERYDAY = {
    "go": "build, test, vet, run, fmt, mod tidy, get, install",
    "cargo": "build, test, check, run, fmt, clippy, add",
    "npm": "install, ci, test, start, run build, run test, run dev, run start",
    "pnpm": "install, test, build, run build, run test, run dev",
    "yarn": "install, test, build, add, run build, run test",
    "pip": "install",
    "uv": "sync, run pytest, add",
    "pytest": "",
    "make": ", test, build, all, clean",
}
DEFAULTS = {
    f"{program} {command}".strip(): program
    for program, commands in _EVERYDAY.items()
    for command in commands.split(", ")
} | {"gofmt": "go", "goimports": "go", "python pytest": "pytest", "python pip install": "pip"}


# How much is printed, and how code is formatted.
_EVERYDAY_FLAGS = PRINTING | {"-w", "-l", "-s", "-d", "-e", "-m"}
# What goes with anything.
BESIDE = frozenset({"git push", "git pull", "cd"})


@dataclass(frozen=True, kw_only=True, slots=True)
class CoverageSummary:
    """What covering has to know of a suggestion: its forms in order, where it was seen, what it is worth."""

    heuristic: Heuristic
    pattern: str
    forms: tuple[str, ...]
    points: int
    is_fix: bool = False
    projects: frozenset[str] = frozenset()


def strength(one: CoverageSummary) -> tuple[object, ...]:
    """By what the stronger of two is told: it comes first."""
    return (
        _ORDER[one.heuristic],
        -one.points,
        len(one.forms),
        one.pattern,
        one.forms,
        one.is_fix,
        sorted(one.projects),
    )


def covers(stronger: CoverageSummary, weaker: CoverageSummary) -> bool:
    """Whether the weaker of two tells nothing that the stronger does not."""
    if stronger.pattern == weaker.pattern:
        return True
    if stronger.is_fix or weaker.is_fix:
        return stronger.is_fix and weaker.is_fix and _is_same_fix(stronger.forms, weaker.forms)
    ours, theirs = acts_of(stronger), acts_of(weaker)
    if ours == theirs or _is_told_by_default(stronger, weaker):
        return True
    if not {stronger.heuristic, weaker.heuristic} <= PROCEDURES:
        is_repeated = weaker.heuristic is Heuristic.REPEATED_ACTION
        return is_repeated and stronger.heuristic is Heuristic.CROSS_SESSION and theirs <= ours
    return _contains(stronger, ours, weaker, theirs=theirs)


def _contains(
    stronger: CoverageSummary, ours: frozenset[str], weaker: CoverageSummary, *, theirs: frozenset[str]
) -> bool:
    """Whether one procedure tells another. Of different projects only what several sessions show does: what
    one project needs besides is its own."""
    is_same_place = weaker.projects <= stronger.projects
    if theirs <= ours:
        return is_same_place or stronger.heuristic is Heuristic.CROSS_SESSION
    return is_same_place and len(ours & theirs) / len(ours | theirs) >= ALIKE_SHARE


def acts_of(one: CoverageSummary) -> frozenset[str]:
    """What its forms do, however much they print of it."""
    return frozenset(map(_strip_printing, one.forms))


def _is_same_fix(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two fixes are one: the same commands, or the same done for another command of a program."""
    is_same_program = one[:1] and other[:1] and one[0].split()[:1] == other[0].split()[:1]
    return one == other or (bool(one[1:-1]) and one[1:-1] == other[1:-1] and bool(is_same_program))


def _is_told_by_default(stronger: CoverageSummary, weaker: CoverageSummary) -> bool:
    """Whether both are no more than what one toolchain does by default, which is worth saying once."""
    is_wide = stronger.heuristic is Heuristic.CROSS_SESSION or stronger.heuristic is weaker.heuristic
    ours, theirs = default_toolchain(stronger.forms), default_toolchain(weaker.forms)
    return is_wide and bool(ours) and ours == theirs


def default_toolchain(forms: Sequence[str]) -> str:
    """The toolchain that all of these are the everyday commands of; empty where they are more than that."""
    found = {_toolchain(form) for form in forms if bare(form) not in BESIDE}
    return found.pop() if len(found) == 1 else ""


@lru_cache(FORMS_CACHED_MAX)
def _toolchain(form: str) -> str:
    """Of which toolchain a form is an everyday command: `go test` is, `go test -race` is not."""
    flags = {word for word in form.split() if word.startswith("-")}
    return DEFAULTS.get(bare(form), "") if flags <= _EVERYDAY_FLAGS else ""


@lru_cache(FORMS_CACHED_MAX)
def bare(form: str) -> str:
    """A form without its flags."""
    return " ".join(word for word in form.split() if not word.startswith(("-", "<")))


@lru_cache(FORMS_CACHED_MAX)
def _strip_printing(form: str) -> str:
    """A form without what only says how much is printed: with and without `-v` it is the same thing to do,
    with and without `-race` it is not."""
    return " ".join(word for word in form.split() if word not in PRINTING and not word.startswith("<"))


def group_covered(
    found: Sequence[CoverageSummary],
) -> tuple[tuple[CoverageSummary, tuple[CoverageSummary, ...]], ...]:
    """Those that nothing stronger covers, the strongest first, each with those that it covers."""
    chosen: dict[str, tuple[CoverageSummary, list[CoverageSummary]]] = {}
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

    found: list[CoverageSummary] = field(default_factory=list)
    masks: dict[Hashable, int] = field(default_factory=dict)

    def add(self, one: CoverageSummary) -> None:
        """Take in one that nothing covers."""
        bit = 1 << len(self.found)
        self.found.append(one)
        for key in _keys(one):
            self.masks[key] = self.masks.get(key, 0) | bit

    def covering(self, one: CoverageSummary) -> CoverageSummary | None:
        """The strongest that covers this one; None where none does."""
        return next((other for other in self.candidates(one) if covers(other, one)), None)

    def candidates(self, one: CoverageSummary) -> Iterator[CoverageSummary]:
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

    def _alike(self, one: CoverageSummary) -> int:
        """Those that say the same, all of it and more, or nearly it where both were seen in one place."""
        said = acts_of(one)
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


def _keys(one: CoverageSummary) -> Iterator[Hashable]:
    """Under what one is looked for."""
    if one.is_fix:
        yield from _fix_keys(one)
        return
    said = acts_of(one)
    yield "same", said
    yield from (("said", form) for form in said)
    yield "size", len(said)
    yield "heuristic", one.heuristic
    if toolchain := default_toolchain(one.forms):
        yield toolchain, one.heuristic
    if one.heuristic in PROCEDURES:
        yield "procedure"
        yield from (("project", project) for project in one.projects)


def _fix_keys(one: CoverageSummary) -> Iterator[Hashable]:
    yield "fix", one.forms
    if one.forms[1:-1]:
        yield "between", one.forms[1:-1]
