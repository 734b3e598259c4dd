"""Matching skills: how often a request finds its skill, beside BM25 over the same files, and what it costs.

On the public skills of the set `skills` (see bench/README.md), asked after by questions that are made from
their descriptions by the rules of `skill_queries`. BM25 (k1 = 1.2, b = 0.75) sees the whole file, with the
same words unstemmed and stemmed. Half A is what weights and tables were tuned on; half B is what counts.
"""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

import numpy as np

from bench.measure import DataAbsent, cpu_percentiles, data_folder, peak_memory_mb, print_table
from bench.secret_guard import read_turns
from bench.skill_paraphrases import TABLE
from bench.skill_queries import KINDS, Asked, RealSkill, asked_of, number_of, real_skills
from runlore.domain.skill import SkillDocument, SkillId
from runlore.domain.skill_matching import Way, best_matches, scoring, words
from runlore.domain.skill_matching.words import Reader, company_of
from runlore.domain.text.analysis import is_stop_word, tokenize, words_of
from runlore.recall.skills import SkillIndex

TITLE = "skill matching: hits against BM25 on 849 public skills, CPU time over 10,000"

HITS = 10
MANY = 10_000
LIMIT = 5
STUFFED_WORDS = 150
CHANGED_EVERY = 7

Ranker: TypeAlias = Callable[[str], Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How often the right skill came first and among the first five, and the mean of 1 / its place."""

    count: int
    first: float
    five: float
    reciprocal: float

    @classmethod
    def of(cls, rank: Ranker, asked: Sequence[Asked]) -> "Quality":
        """Ask everything."""
        places = [_place(rank(each.query), each.place) for each in asked]
        return cls(
            count=len(places),
            first=sum(place == 1 for place in places) / len(places),
            five=sum(0 < place <= 5 for place in places) / len(places),
            reciprocal=sum(1 / place for place in places if place) / len(places),
        )


def main() -> None:
    """Print the tables."""
    skills = real_skills()
    asked = list(asked_of(skills))
    index = SkillIndex(_pairs(skills))
    print(f"{len(skills)} skills, {len(asked):,} questions (half A was tuned on, half B was not)\n")
    report_quality(skills, asked, index)
    report_tables()
    report_losses(skills, asked, index)
    report_unrelated(index)
    report_stuffing(skills, asked)
    report_cost(skills, asked)


def report_quality(skills: Sequence[RealSkill], asked: Sequence[Asked], index: SkillIndex) -> None:
    """Every method on every kind of question, by halves."""
    texts = {skill.place: skill.text for skill in skills}
    methods: dict[str, Ranker] = {
        "BM25, whole file, words": Bm25(texts, _unstemmed).rank,
        "BM25, whole file, stems": Bm25(texts, tokenize).rank,
        "Runlore": _ranker(index),
    }
    rows = [
        [kind, half, name, *_row(method, kind=kind, half=half, asked=asked)]
        for kind in KINDS
        for half in "AB"
        for name, method in methods.items()
    ]
    with without_tables():
        rows += [
            [
                kind,
                half,
                "Runlore without its tables",
                *_row(_ranker(index), kind=kind, half=half, asked=asked),
            ]
            for kind in KINDS
            for half in "AB"
        ]
    rows.sort(key=lambda row: (KINDS.index(str(row[0])), str(row[1])))
    print_table(["questions", "half", "method", "skills", "hit@1", "hit@5", "MRR@10"], rows)


def report_tables() -> None:
    """How far the rules of paraphrasing and the matcher's tables are apart."""
    reader = Reader()
    held = 0
    for word, told in TABLE.items():
        [*keys] = (key for key, _ in reader.read(word))
        others = {
            other for key in keys for company in [company_of(key)] for other in (*company.same, *company.near)
        }
        held += bool(others & {key for key, _ in reader.read(told)})
    print(
        f"\nOf the {len(TABLE)} replacements of `paraphrase` {held} are in the matcher's tables as well;"
        " the figures without the tables are above."
    )


def report_losses(skills: Sequence[RealSkill], asked: Sequence[Asked], index: SkillIndex) -> None:
    """Question by question: where the matcher has the skill in a better and in a worse place than BM25."""
    texts = {skill.place: skill.text for skill in skills}
    ours = _ranker(index)
    print("\nQuestion by question (half B), places among the first ten\n")
    rows = []
    for name, analyser in (("BM25, words", _unstemmed), ("BM25, stems", tokenize)):
        theirs = Bm25(texts, analyser).rank
        for kind in KINDS:
            places = [
                (
                    _place(ours(each.query), each.place) or HITS + 1,
                    _place(theirs(each.query), each.place) or HITS + 1,
                )
                for each in asked
                if each.kind == kind and each.half == "B"
            ]
            better, worse = sum(a < b for a, b in places), sum(a > b for a, b in places)
            rows.append([name, kind, better, len(places) - better - worse, worse])
    print_table(["against", "questions", "better", "equal", "worse"], rows)


def report_unrelated(index: SkillIndex) -> None:
    """Turns of private conversations, in which nobody asks for a skill."""
    try:
        turns = [turn.text for turn in read_turns(data_folder("locomo", "locomo5.json"))]
    except DataAbsent as absent:
        print(f"\nTurns that have nothing to do with any skill: not run, {absent}")
        return
    halves = (turns[0::2], turns[1::2])
    print("\nTurns of LoCoMo (CC BY-NC 4.0), which have nothing to do with skills: how many get none\n")
    rows = []
    for half, told in zip("AB", halves, strict=True):
        none = sum(not index.match(turn, limit=LIMIT) for turn in told)
        rows.append([half, len(told), none, f"{100 * none / len(told):.1f}%"])
    print_table(["half", "turns", "without a match", "share"], rows)


def report_stuffing(skills: Sequence[RealSkill], asked: Sequence[Asked]) -> None:
    """A skill whose description and body are made of the words that most descriptions have."""
    reader = Reader()
    said = Counter(
        word for skill in skills for word in {word for _, word in reader.read(skill.document.description)}
    )
    words = [word for word, _ in sorted(said.items(), key=lambda each: (-each[1], each[0]))]
    stuffed = SkillDocument(
        name="-".join(words[:8])[:64],
        description=" ".join(words[:STUFFED_WORDS]),
        body=" ".join(words),
        topics=tuple(words[:100]),
        actions=tuple(words[:100]),
    )
    index = SkillIndex([*_pairs(skills), (SkillId("stuffed"), stuffed)])
    half_b = [each for each in asked if each.half == "B"]
    texts = {skill.place: skill.text for skill in skills}
    texts["stuffed"] = f"{stuffed.description}\n{stuffed.body}\n{' '.join(stuffed.topics)}"
    print("\nA skill stuffed with the words of all others: how often it comes first or among five (half B)\n")
    rows = []
    for name, rank in (("Runlore", _ranker(index)), ("BM25, stems", Bm25(texts, tokenize).rank)):
        places = [_place(rank(each.query), "stuffed") for each in half_b]
        first, five = sum(place == 1 for place in places), sum(0 < place <= 5 for place in places)
        rows.append([name, len(places), first, five, f"{100 * five / len(places):.1f}%"])
    print_table(["method", "questions", "first", "among five", "share"], rows)


def report_cost(skills: Sequence[RealSkill], asked: Sequence[Asked]) -> None:
    """CPU time over ten thousand skills, beside the least that reading the same postings could take."""
    many = list(islice(varied(skills), MANY))
    start = time.process_time()
    index = SkillIndex(many)
    build_s = time.process_time() - start
    start = time.process_time()
    SkillIndex([*many[:-1], (many[-1][0], replace(many[-1][1], description="changed"))], before=index)
    again_s = time.process_time() - start
    print(
        f"\n{len(index):,} skills: the real ones varied, with a number behind the name and every"
        f" {CHANGED_EVERY}th word taken from another skill.\nBuilt in {build_s:.1f} s CPU,"
        f" and again after a change of one in {again_s:.1f} s;"
        f" peak memory of this process {peak_memory_mb():,.0f} MB\n"
    )
    rows = []
    for kind in KINDS:
        queries = [each.query for each in asked if each.kind == kind]
        rows.append([kind, *_cost(index, queries)])
    for name, query in _hostile_queries(skills).items():
        rows.append([name, *_cost(index, [query] * 20)])
    print_table(["request", "p50 ms", "p95 ms", "max ms", "empty loop p50 ms", "match / loop"], rows)
    one = [each.query for each in asked][:3]
    brute = cpu_percentiles(lambda query: best_matches(many[:1_000], query, limit=LIMIT), one, warm_up=0)
    print(
        f"\nThe loop over all skills, 1,000 of them, read anew for each request: {brute.p50_ms:,.0f} ms CPU"
    )


class Bm25:
    """BM25 as it is in the books, over whole files."""

    def __init__(self, texts: dict[str, str], analyser: Callable[[str], list[str]]) -> None:
        self._analyser = analyser
        self._size = len(texts)
        counts = {place: Counter(analyser(text)) for place, text in texts.items()}
        average = sum(each.total() for each in counts.values()) / len(counts)
        self._gains: dict[str, dict[str, float]] = defaultdict(dict)
        for place, terms in counts.items():
            norm = 1.2 * (1 - 0.75 + 0.75 * terms.total() / average)
            for term, count in terms.items():
                self._gains[term][place] = count * 2.2 / (count + norm)

    def rank(self, query: str) -> Sequence[str]:
        """The best files; of equals the first."""
        scores: dict[str, float] = defaultdict(float)
        for term in set(self._analyser(query)):
            gains = self._gains.get(term, {})
            rarity = math.log(1 + (self._size - len(gains) + 0.5) / (len(gains) + 0.5))
            for place, gain in gains.items():
                scores[place] += rarity * gain
        return sorted(scores, key=lambda place: (-round(scores[place], 9), place))[:HITS]


def varied(skills: Sequence[RealSkill]) -> Iterator[tuple[SkillId, SkillDocument]]:
    """Skills without end: the real ones over and over, each time with other words of other skills."""
    words = [f"{skill.document.description} {skill.document.body[:4_000]}".split() for skill in skills]
    for round_ in range(MANY):
        for position, skill in enumerate(skills):
            other = words[number_of(skill.place, f"other {round_}") % len(words)]
            changed = [
                other[place % len(other)] if round_ and (place + round_) % CHANGED_EVERY == 0 else word
                for place, word in enumerate(words[position])
            ]
            length = len(skill.document.description.split())
            document = replace(
                skill.document,
                name=f"{skill.document.name}-{round_}"[:64],
                description=" ".join(changed[:length]),
                body=" ".join(changed[length:]),
            )
            yield SkillId(f"{skill.place}#{round_}"), document


@contextmanager
def without_tables() -> Iterator[None]:
    """The matcher as it would be without synonyms."""

    def itself(key: str) -> Iterator[tuple[Way, str]]:
        yield Way.EXACT, key

    kept = words.ways_of
    for module in (words, scoring):
        setattr(module, "ways_of", itself)  # noqa: B010
    try:
        yield
    finally:
        for module in (words, scoring):
            setattr(module, "ways_of", kept)  # noqa: B010


def _cost(index: SkillIndex, queries: Sequence[str]) -> list[float]:
    """A match beside an empty loop: the same postings, only read and added up."""
    ours = cpu_percentiles(lambda query: index.match(query, limit=LIMIT), queries)
    lists = [index.postings_of(query) for query in queries]
    totals = np.zeros(len(index), dtype=np.int32)

    def read(postings: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        for rows, points in postings:
            totals[rows] += points

    least = cpu_percentiles(read, lists)
    return [ours.p50_ms, ours.p95_ms, ours.max_ms, least.p50_ms, ours.p50_ms / max(least.p50_ms, 1e-9)]


def _hostile_queries(skills: Sequence[RealSkill]) -> dict[str, str]:
    everything = " ".join(skill.document.description for skill in skills)
    common = Counter(word for word in words_of(everything) if not is_stop_word(word)).most_common(600)
    return {
        "the 600 commonest words": " ".join(word for word, _ in common),
        "100 kB of descriptions": everything[:100_000],
        "100 kB of one letter": "a" * 100_000,
        "100 kB of joints": "a-" * 50_000,
        "empty": "",
    }


def _pairs(skills: Sequence[RealSkill]) -> list[tuple[SkillId, SkillDocument]]:
    return [(SkillId(skill.place), skill.document) for skill in skills]


def _ranker(index: SkillIndex) -> Ranker:
    return lambda query: [match.skill_id for match in index.match(query, limit=HITS)]


def _row(rank: Ranker, *, kind: str, half: str, asked: Sequence[Asked]) -> list[object]:
    quality = Quality.of(rank, [each for each in asked if each.kind == kind and each.half == half])
    return [
        quality.count,
        f"{100 * quality.first:.1f}%",
        f"{100 * quality.five:.1f}%",
        f"{quality.reciprocal:.3f}",
    ]


def _place(ranked: Sequence[str], wanted: str) -> int:
    return ranked.index(wanted) + 1 if wanted in ranked else 0


def _unstemmed(text: str) -> list[str]:
    return [word for word in words_of(text) if not is_stop_word(word)]


if __name__ == "__main__":
    main()
