"""Drops what another suggestion covers: the same commands are suggested once.

Where two heuristics found the same commands, the earlier of this order stays: what the user asked for, what
many sessions show, what the user corrected, what failed and was put right, a procedure, a repeated command.
A procedure covers shorter ones that it contains, and in the same project those that are nearly the same; the
one with more points stays. What a toolchain does by default is suggested once.
"""

from collections.abc import Sequence
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
class Found:
    """What covering has to know of a suggestion: its forms in order, where it was seen, what it is worth."""

    heuristic: Heuristic
    pattern: str
    forms: tuple[str, ...]
    points: int
    is_fix: bool = False
    projects: frozenset[str] = frozenset()


def strength(one: Found) -> tuple[object, ...]:
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


def covers(stronger: Found, weaker: Found) -> bool:
    """Whether the weaker of two tells nothing that the stronger does not."""
    if stronger.pattern == weaker.pattern:
        return True
    if stronger.is_fix or weaker.is_fix:
        return stronger.is_fix and weaker.is_fix and _is_same_fix(stronger.forms, weaker.forms)
    ours, theirs = said_by(stronger), said_by(weaker)
    if ours == theirs or _is_told_by_default(stronger, weaker):
        return True
    if not {stronger.heuristic, weaker.heuristic} <= PROCEDURES:
        is_repeated = weaker.heuristic is Heuristic.REPEATED_ACTION
        return is_repeated and stronger.heuristic is Heuristic.CROSS_SESSION and theirs <= ours
    return _contains(stronger, ours, weaker, theirs=theirs)


def _contains(stronger: Found, ours: frozenset[str], weaker: Found, *, theirs: frozenset[str]) -> bool:
    """Whether one procedure tells another. Of different projects only what several sessions show does: what
    one project needs besides is its own."""
    is_same_place = weaker.projects <= stronger.projects
    if theirs <= ours:
        return is_same_place or stronger.heuristic is Heuristic.CROSS_SESSION
    return is_same_place and len(ours & theirs) / len(ours | theirs) >= ALIKE_SHARE


def said_by(one: Found) -> frozenset[str]:
    """What its forms do, however much they print of it."""
    return frozenset(map(_said, one.forms))


def _is_same_fix(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two fixes are one: the same commands, or the same done for another command of a program."""
    is_same_program = one[:1] and other[:1] and one[0].split()[:1] == other[0].split()[:1]
    return one == other or (bool(one[1:-1]) and one[1:-1] == other[1:-1] and bool(is_same_program))


def _is_told_by_default(stronger: Found, weaker: Found) -> bool:
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
def _said(form: str) -> str:
    """A form without what only says how much is printed: with and without `-v` it is the same thing to do,
    with and without `-race` it is not."""
    return " ".join(word for word in form.split() if word not in PRINTING and not word.startswith("<"))
