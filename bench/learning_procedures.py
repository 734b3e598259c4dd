"""How many procedures worth keeping are suggested, and how many suggestions are worth keeping.

A suggestion is a procedure of the gold where

- some of its evidence is of a session that the gold names for it, and
- a recipe shares two commands with it, and these are half of the suggestion's; or its only command, where the
  recipe has three at most;
- a fix shares a command with what put it right, and the suggestion is a fix with four tenths of the words of
  the error; where an edit put it right, which no command tells, six tenths of these words. Of several fixes
  it is the one whose error it has most of.

A command is known by its program and the first word behind it, of some programs by two: `git push`,
`gh pr view`, `mise run lint`. The folder of `git -C` is no such word.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from bench.learning_gold import GoldProcedure, Person
from runlore.daemon.mining.dry_run import look_through
from runlore.domain.detectors.match import Heuristic
from runlore.domain.suggestion import Suggestion

_SPLIT = re.compile(r"&&|\|\||[;|\n`]|\bthen\b|\bor\b")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_PROGRAM = re.compile(r"[a-z_][\w.+-]*$")
_WORDS = re.compile(r"[a-z][a-z-]{2,}")
_PREFIXES = frozenset({"sudo", "env", "time", "nice", "exec"})
# What is done is the second word behind these: `gh pr view`, `mise run lint`.
_NESTED = frozenset(
    {"gh", "glab", "aws", "gcloud", "az", "docker", "podman", "npm", "pnpm", "yarn", "mise", "uv"}
)
FIX = "fix"
ERROR_WORDS_MIN, ERROR_WORDS_OF_EDIT_MIN = 0.4, 0.6
# How a suggestion tells that an edit put something right.
_BY_EDIT = "put right what it names"
_SMALL_RECIPE = 3


@dataclass(frozen=True, kw_only=True)
class ProcedureResult:
    """What came of one person's sessions. `recalls` are (found, all) by the least worth that counts."""

    person: str
    suggested: int
    known: int
    recalls: dict[int, tuple[int, int]]


def suggested_for(person: Person) -> tuple[ProcedureResult, list[Suggestion]]:
    """How today's suggestions do on a person; and those that the gold does not know."""
    suggestions = look_through(person.sources, workers=1).suggestions
    found: set[str] = set()
    unknown: list[Suggestion] = []
    for suggestion in suggestions:
        stems = {person.stems.get(evidence.session_id, "") for evidence in suggestion.evidence}
        same = [gold for gold in person.procedures if is_same(suggestion, gold, stems)]
        if same:
            # One suggestion tells one procedure: the one that it shares most with, of fixes of the error.
            found.add(max(same, key=lambda gold: (*_shared(suggestion, gold), gold.worth, gold.name)).name)
        else:
            unknown.append(suggestion)
    recalls = {
        worth: (len(names & found), len(names))
        for worth in (3, 2)
        for names in [{gold.name for gold in person.procedures if gold.worth >= worth}]
    }
    known = len(suggestions) - len(unknown)
    return ProcedureResult(
        person=person.id, suggested=len(suggestions), known=known, recalls=recalls
    ), unknown


def is_same(suggestion: Suggestion, gold: GoldProcedure, stems: Iterable[str]) -> bool:
    """Whether a suggestion that these sessions show is a procedure of the gold."""
    if gold.sessions.isdisjoint(stems):
        return False
    suggested, known = command_keys(suggestion.commands), command_keys(gold.steps)
    shared = suggested & known
    if gold.kind == FIX:
        error = _error_share(suggestion, gold)
        is_by_edit = _BY_EDIT in suggestion.body.lower() and error >= ERROR_WORDS_OF_EDIT_MIN
        return is_by_edit or (bool(shared) and error >= ERROR_WORDS_MIN)
    if len(suggested) == 1:
        return bool(shared) and len(known) <= _SMALL_RECIPE
    return len(shared) >= 2 and 2 * len(shared) >= len(suggested)


def _error_share(suggestion: Suggestion, gold: GoldProcedure) -> float:
    """How many of the words of a fix's error a suggestion has; none where one of both is no fix."""
    if gold.kind != FIX or suggestion.heuristic is not Heuristic.ERROR_RECOVERY:
        return 0.0
    return error_share(gold, f"{suggestion.description} {suggestion.body}")


def error_share(gold: GoldProcedure, text: str) -> float:
    """How many of the words of a fix's error a text has."""
    error = frozenset(_WORDS.findall(gold.error.lower()))
    return len(error & frozenset(_WORDS.findall(text.lower()))) / max(1, len(error))


def _shared(suggestion: Suggestion, gold: GoldProcedure) -> tuple[float, int]:
    shared = command_keys(suggestion.commands) & command_keys(gold.steps)
    return _error_share(suggestion, gold), len(shared)


def command_keys(texts: Sequence[str]) -> frozenset[str]:
    """What the commands in these texts are known by."""
    parts = (part for text in texts for part in _SPLIT.split(text))
    return frozenset(key for part in parts if (key := _key(part.split())))


def _key(words: list[str]) -> str:
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _PREFIXES or words[0] in {"$", "-", "*"}):
        words = words[1:]
    if not words or words[0] == "cd" or not _PROGRAM.match(words[0].rpartition("/")[2]):
        return ""
    program = words[0].rpartition("/")[2]
    if program == "git" and words[1:2] == ["-C"]:
        words = [words[0], *words[3:]]
    behind = [word for word in words[1:] if not word.startswith("-")][: 2 if program in _NESTED else 1]
    return " ".join([program, *takewhile(_PROGRAM.match, behind)])
