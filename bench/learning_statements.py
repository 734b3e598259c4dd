"""How well lasting statements are found: against the gold, by person, with weights fitted on the others.

A statement is right where the sentence that it shows is a lasting line of the gold. A wish is found where a
statement that is proposed is one of its lines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.learning_gold import GoldLine, Person
from runlore.domain.record import Kind
from runlore.domain.scope import ScopeKind
from runlore.domain.statements.finding import Judged, OwnStatement, judge_sentences, statements_from
from runlore.domain.statements.weights import POINTS

FIRST = 20
Weights = Mapping[str, int]
Floats = NDArray[np.float64]

STORED = POINTS
# What is known before anything is fitted: which way a feature points.
_SIGN_POINTS = 12
_PULL = 6.0
_ROUNDS = 60
KINDS = {
    "preference": Kind.PREFERENCE,
    "correction": Kind.PREFERENCE,
    "convention": Kind.DECISION,
    "decision": Kind.DECISION,
    "fact": Kind.FACT,
}
SCOPES = {"user": ScopeKind.PERSONA, "project": ScopeKind.PROJECT}

FAMILIES: Mapping[str, Callable[[str], bool]] = {
    "the same wish in several sessions": lambda name: name.startswith("recurs-"),
    "refusals": lambda name: name == "refusal",
    "words that make a rule": lambda name: name in {"rule", "reminder", "preference", "every", "told"},
    "other words for it": lambda name: 0 < STORED[name] < 20 and not name.startswith("recurs-"),
    "words against it": lambda name: name in {"hedge", "story", "pointing", "condition", "question"},
    "size and place": lambda name: "long" in name or name in {"many lines", "late", "short", "digits"},
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of one person's sessions. `shown` are the statements that are not folded under the others,
    `first` the twenty at the top, `sure` those of these twenty that no careful reader would doubt."""

    person: str
    said: int
    proposed: int
    right: int
    shown: int
    shown_right: int
    first: int
    first_right: int
    sure_first: int
    sure_right: int
    groups: int
    groups_found: int
    kinds_right: int = 0
    scopes_right: int = 0


def judge(person: Person) -> list[Judged]:
    """All sentences of somebody with what was seen of them, which no weight changes."""
    return judge_sentences(person.said)


def result_of(
    person: Person, judged: Sequence[Judged], weights: Weights
) -> tuple[Result, list[OwnStatement]]:
    """How these weights do on a person; and the statements that stand in no line of the gold."""
    found = statements_from(judged, weights)
    lines = [person.line_of(each.said[0].session_id, each.text) for each in found]
    right = [line is not None and line.is_lasting for line in lines]
    sure = [line is None or line.is_sure for line in lines]
    hits = [(each, line) for each, line in zip(found, lines, strict=True) if line and line.is_lasting]
    result = Result(
        person=person.id,
        said=len(person.said),
        proposed=len(found),
        right=sum(right),
        shown=sum(each.is_first for each in found),
        shown_right=sum(each.is_first and is_right for each, is_right in zip(found, right, strict=True)),
        first=len(found[:FIRST]),
        first_right=sum(right[:FIRST]),
        sure_first=sum(sure[:FIRST]),
        sure_right=sum(a and b for a, b in zip(right[:FIRST], sure[:FIRST], strict=True)),
        groups=len(person.groups),
        groups_found=len({line.group for _, line in hits}),
        kinds_right=sum(each.kind is KINDS.get(line.kind) for each, line in hits),
        scopes_right=sum(each.scope is SCOPES.get(line.scope) for each, line in hits),
    )
    return result, [each for each, line in zip(found, lines, strict=True) if line is None]


def fitted(samples: Sequence[tuple[Person, Sequence[Judged]]]) -> Weights:
    """Weights fitted on these people: a logistic regression that begins with nothing but which way each
    feature points, in whole points."""
    names = list(STORED)
    rows = [
        (judged.features, _is_lasting(person.line_of(judged.said.session_id, judged.sentence.text)))
        for person, sentences in samples
        for judged in sentences
        if not judged.seen.passed_over
    ]
    seen = np.array([[name in features for name in names] for features, _ in rows], dtype=np.float64)
    right = np.array([is_right for _, is_right in rows], dtype=np.float64)
    before = np.array([np.sign(STORED[name]) * _SIGN_POINTS / 10 for name in names])
    weights = _regressed(seen, right, before)
    return {name: round(10 * float(weight)) for name, weight in zip(names, weights, strict=True)}


def without(family: str) -> Weights:
    """The stored weights without one family of features."""
    return {name: 0 if FAMILIES[family](name) else points for name, points in STORED.items()}


def _is_lasting(line: GoldLine | None) -> bool:
    return line is not None and line.is_lasting


def _regressed(seen: Floats, right: Floats, before: Floats) -> Floats:
    """Newton's steps; weights are pulled to what they were before."""
    weights, constant = before.copy(), -3.5
    for _ in range(_ROUNDS):
        likely = _likely(seen, weights, constant)
        curve = (seen * (likely * (1 - likely))[:, None]).T @ seen + _PULL * np.eye(len(weights))
        step = np.linalg.solve(curve, seen.T @ (likely - right) + _PULL * (weights - before))
        weights = weights - step
        likely = _likely(seen, weights, constant)
        constant -= float((likely - right).sum() / max(1e-6, (likely * (1 - likely)).sum()))
        if float(np.abs(step).max()) < 1e-5:
            break
    return weights


def _likely(seen: Floats, weights: Floats, constant: float) -> Floats:
    return np.asarray(1 / (1 + np.exp(-(seen @ weights + constant))), dtype=np.float64)
