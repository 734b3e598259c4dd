"""How words and vectors are put together: every rule that was tried, on two sets, and what is gained by one.

`fusion_sets` says what the sets are. R@k is the share of the answers among the first k, MRR the average of
one by the place of the first answer. A difference to words alone has the range that 95 of 100 bootstrap
samples of the questions fall into.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bench.fusion_rules import (
    Order,
    as_it_is,
    below,
    by_best,
    by_deviation,
    by_range,
    chosen,
    reciprocal,
    reranked,
    shared,
    summed,
    vectors_alone,
    words_alone,
)
from bench.fusion_server import embedding_server
from bench.fusion_sets import (
    EMBEDDING_S,
    REPORTED,
    TUNED,
    Case,
    Corpus,
    by_vectors,
    cases,
    locomo_set,
    matched_sets,
    skills_set,
)
from bench.measure import print_table
from runlore.domain.search.ranking import MARGIN, Similarities
from runlore.models.embedding import open_embedder
from runlore.ports.embedder import Embedder, EmbeddingBackend, EmbeddingProvider

TITLE = "words, vectors and both on LoCoMo and on 700 skills"

MEASURES = ("R@5", "R@12", "MRR")
BOOTSTRAP_SAMPLES = 2_000
SEED = 20_261_115


def main() -> None:
    """Print the tables."""
    local = open_embedder(EmbeddingBackend(provider=EmbeddingProvider.LOCAL))
    corpora = {"LoCoMo": locomo_set(), "skills": skills_set()}
    sets = {name: list(cases(each, local)) for name, each in corpora.items()}
    for name, each in corpora.items():
        texts = sum(len(corpus.texts) for corpus in each)
        halves = [sum(case.half == half for case in sets[name]) for half in (TUNED, REPORTED)]
        print(f"{name}: {texts:,} texts, questions: {halves[0]:,} tuned on, {halves[1]:,} reported")
    print(f"\n{_through_a_server(corpora, sets, local)}")
    print("\nThe half that was tuned on:\n")
    _print_rules(list(_tried()), sets, TUNED)
    print("\nThe half that is reported, with the difference to words alone:\n")
    _print_differences(list(_kept()), sets)
    print("\nThe same with the skill matcher in place of the ranking, by kind of question:\n")
    _print_differences([("above background, share 1/4 (chosen)", chosen)], matched_sets(local))
    print("\nOther vectors, the reported half: what a better, a worse and a useless model would do\n")
    _print_others(sets)
    print("\nQuestions of one set asked of the other: who gets anything by meaning alone, by margin\n")
    _print_admitted(corpora, local)


def _tried() -> Iterator[tuple[str, Order]]:
    yield from (("words alone", words_alone), ("vectors alone", vectors_alone))
    for weight, constant in ((1, 60), (0.5, 60), (0.2, 60), (0.1, 60), (0.3, 10), (0.1, 10)):
        yield f"reciprocal ranks, k {constant}, weight {weight}", reciprocal(weight, constant)
    ways = (
        ("by best + cosine", by_best, as_it_is, (0.2, 0.5, 1.0, 1.5)),
        ("by best", by_best, by_best, (0.2, 0.3, 0.5, 0.7, 1.0)),
        ("min-max", by_range, by_range, (0.2, 0.3, 0.5, 0.7, 1.0)),
        ("z-scores", by_deviation, by_deviation, (0.1, 0.3, 0.5, 1.0)),
    )
    for name, words, vectors, weights in ways:
        yield from ((f"{name}, weight {weight}", summed(words, vectors, weight)) for weight in weights)
    for first, share in ((12, 0.25), (24, 0.25)):
        yield f"vectors rerank the first {first}, share {share}", reranked(first, share)
    yield "no word in common stands below, share 1/4", below(1 / 4)
    for share in (0.1, 0.2, 0.33, 0.4, 0.5):
        yield f"above background, share {share}", shared(share)
    yield "above background, share 1/4, any span", shared(1 / 4, least=1)
    yield "above background, share 1/4 (chosen)", chosen


def _kept() -> Iterator[tuple[str, Order]]:
    yield "vectors alone", vectors_alone
    yield "reciprocal ranks, k 60", reciprocal(1, 60)
    yield "reciprocal ranks, k 10, weight 0.3", reciprocal(0.3, 10)
    yield "by best, weight 0.5", summed(by_best, by_best, 0.5)
    yield "min-max, weight 0.5", summed(by_range, by_range, 0.5)
    yield "above background, share 0.33", shared(1 / 3)
    yield "above background, share 0.5", shared(0.5)
    yield "above background, share 1/4 (chosen)", chosen


def _through_a_server(corpora: dict[str, list[Corpus]], sets: dict[str, list[Case]], local: Embedder) -> str:
    """Whether vectors that came over HTTP give the same answers, which they must to the last digit."""
    with embedding_server(local) as backend:
        remote = open_embedder(backend)
        same = all(list(cases(each, remote)) == sets[name] for name, each in corpora.items())
        remote.close()
    return f"Through a server on this machine: {'the same similarities' if same else 'OTHER SIMILARITIES'}."


def _print_rules(rules: Sequence[tuple[str, Order]], sets: dict[str, list[Case]], half: str) -> None:
    print_table(_columns(sets), [[name, *_figures(rule, sets, half)] for name, rule in rules])


def _columns(sets: dict[str, list[Case]]) -> list[str]:
    return ["rule", *(f"{name} {measure}" for name in sets for measure in MEASURES)]


def _figures(rule: Order, sets: dict[str, list[Case]], half: str) -> list[str]:
    return [_short(figure) for each in sets.values() for figure in _measured(rule, each, half).mean(0)]


def _print_differences(rules: Sequence[tuple[str, Order]], sets: dict[str, list[Case]]) -> None:
    print_table(
        ["set", "rule", *(column for measure in MEASURES for column in (measure, "difference"))],
        [row for name, each in sets.items() for row in _differences(name, rules, each)],
    )


def _differences(name: str, rules: Sequence[tuple[str, Order]], each: Sequence[Case]) -> Iterator[list[str]]:
    plain = _measured(words_alone, each, REPORTED)
    yield [name, "words alone", *(cell for figure in plain.mean(0) for cell in (_short(figure), "-"))]
    for told, rule in rules:
        figures = _measured(rule, each, REPORTED)
        ranges = _bootstrapped(figures - plain)
        cells = zip(figures.mean(0), ranges, strict=True)
        yield [name, told, *(cell for figure, told_range in cells for cell in (_short(figure), told_range))]


def _print_others(sets: dict[str, list[Case]]) -> None:
    kinds: list[tuple[str, Callable[[Case, np.random.Generator], Similarities]]] = [
        ("cosines in a third of the range", _narrow),
        ("answers nearer by a deviation", _better),
        ("half noise", _half_noise),
        ("noise alone", _noise),
    ]
    rules = [("reciprocal ranks, k 60", reciprocal(1, 60)), ("chosen", chosen)]
    rows = []
    for told, change in kinds:
        random = np.random.default_rng(SEED)
        changed = {
            name: [replace(case, similar=change(case, random)) for case in each if case.half == REPORTED]
            for name, each in sets.items()
        }
        rows += [[f"{told}: {name}", *_figures(rule, changed, REPORTED)] for name, rule in rules]
    print_table(_columns(sets), rows)


def _print_admitted(corpora: dict[str, list[Corpus]], local: Embedder) -> None:
    asked = {name: [text for text, _, _ in each[0].questions] for name, each in corpora.items()}
    indexes = {name: by_vectors(each[0].texts, local) for name, each in corpora.items()}
    margins = (1_500, 2_000, MARGIN, 3_000, 3_500)
    rows = []
    for questions, texts in (
        ("LoCoMo", "LoCoMo"),
        ("skills", "skills"),
        ("LoCoMo", "skills"),
        ("skills", "LoCoMo"),
    ):
        vectors = local.embed(asked[questions], timeout_s=EMBEDDING_S)
        found = [indexes[texts].search(vector, limit=1) for vector in vectors]
        above = [max(each.of.values()) - each.background for each in found]
        shares = [sum(one >= margin for one in above) / len(above) for margin in margins]
        rows.append([f"{questions} asked of {texts}", *(f"{share:.0%}" for share in shares)])
    print_table(["questions", *(f"{margin / 10_000}" for margin in margins)], rows)


def _measured(rule: Order, each: Sequence[Case], half: str) -> NDArray[np.float64]:
    """The measures, a row for each question."""
    return np.array([_measures(rule(case), case.answers) for case in each if case.half == half])


def _measures(order: Sequence[str], answers: frozenset[str]) -> tuple[float, float, float]:
    first = next((1 / place for place, key in enumerate(order, start=1) if key in answers), 0.0)
    at_5, at_12 = (len(answers.intersection(order[:count])) / len(answers) for count in (5, 12))
    return at_5, at_12, first


def _bootstrapped(differences: NDArray[np.float64]) -> list[str]:
    random = np.random.default_rng(SEED)
    count = len(differences)
    means = np.array(
        [differences[random.integers(0, count, count)].mean(0) for _ in range(BOOTSTRAP_SAMPLES)]
    )
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [
        f"{mean:+.3f} ({least:+.3f} to {most:+.3f})"
        for mean, least, most in zip(differences.mean(0), low, high, strict=True)
    ]


def _narrow(case: Case, _: np.random.Generator) -> Similarities:
    return Similarities(
        of={key: 7_000 + value * 3 // 10 for key, value in case.similar.of.items()},
        background=7_000 + case.similar.background * 3 // 10,
    )


def _better(case: Case, _: np.random.Generator) -> Similarities:
    known = case.similar.of
    more = int(np.std(list(known.values()))) if known else 0
    return replace(
        case.similar, of={key: value + more * (key in case.answers) for key, value in known.items()}
    )


def _half_noise(case: Case, random: np.random.Generator) -> Similarities:
    known = case.similar.of
    noise = random.normal(0, np.std(list(known.values())), len(known)).astype(int).tolist()
    return replace(
        case.similar,
        of={key: value + more for (key, value), more in zip(known.items(), noise, strict=True)},
    )


def _noise(case: Case, random: np.random.Generator) -> Similarities:
    values = list(case.similar.of.values())
    random.shuffle(values)
    return replace(case.similar, of=dict(zip(case.similar.of, values, strict=True)))


def _short(figure: float) -> str:
    return f"{figure:.3f}".lstrip("0")


if __name__ == "__main__":
    main()
