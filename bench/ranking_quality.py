"""How often the ranking finds the evidence for a question, and what each of its parts is worth.

On LoCoMo (Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", ACL 2024;
CC BY-NC 4.0, evaluation only): one index for each conversation, one record for each turn, and the turns that
a question names as its evidence are to be found. R@k is the share of them among the first k hits. BM25 and
SQLite's FTS5 see the same text; the further tables change one thing at a time in Runlore's formula.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import apsw

from bench.measure import data_folder, print_table
from runlore.domain.record import Kind, Layer, Record, RecordId, State
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import RankFilter
from runlore.domain.text.analysis import is_stop_word, stem, tokenize, words_of
from runlore.recall import RankingIndex

TITLE = "evidence recall on LoCoMo, against BM25 and FTS5, with every part left out once"

HITS = 10
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")

# What a method does with a conversation's turns: it returns what ranks them for a question.
Ranker: TypeAlias = Callable[[str], Sequence[int]]
Method: TypeAlias = Callable[[Sequence["Turn"]], Ranker]
Analyser: TypeAlias = Callable[[str], list[str]]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One utterance: its text as a record's summary would hold it, and what could be metadata instead."""

    speaker: str
    said: str
    caption: str
    session: str = ""

    @property
    def text(self) -> str:
        """All of it as one text."""
        return f"{self.speaker}: {self.said} {self.caption}".strip()


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The turns, and each question with the numbers of the turns that answer it."""

    turns: list[Turn]
    questions: list[tuple[str, frozenset[int]]]


@dataclass(frozen=True, kw_only=True)
class Formula:
    """BM25 with everything that can be left out or changed."""

    k1: float = 1.0
    b: float = 0.25
    pivot: float | None = 32.0
    rarity: bool = True
    # What a word of the metadata counts; None leaves everything in the summary.
    metadata: float | None = None
    analyser: Analyser = tokenize

    def __call__(self, turns: Sequence[Turn]) -> Ranker:
        """Index the turns."""
        return _Postings(self, turns).rank


def main() -> None:
    """Print the tables."""
    conversations = locomo()
    asked = sum(len(each.questions) for each in conversations)
    turns = sum(len(each.turns) for each in conversations)
    print(f"{len(conversations)} conversations, {turns:,} turns, {asked:,} questions with evidence\n")
    columns = ["method", "R@5", "R@10", "NDCG@10"]
    for methods in (_methods(), _ablations(), _parameters(), _metadata()):
        print_table(columns, [[name, *quality(method, conversations)] for name, method in methods])
        print()


def _methods() -> list[tuple[str, Method]]:
    okapi = Formula(k1=1.5, b=0.75, pivot=None)
    return [
        ("BM25 Okapi, plain words", replace(okapi, analyser=_plain_words)),
        ("BM25 Okapi, stem + stop words", replace(okapi, analyser=_stemmed_words)),
        ("BM25 Okapi, Runlore's analyser", okapi),
        ("SQLite FTS5 bm25, porter, stop words", by_fts5),
        ("Runlore (the index)", _runlore),
        ("Runlore, in floating point", Formula()),
    ]


def _ablations() -> list[tuple[str, Method]]:
    return [
        ("without rarity", Formula(rarity=False)),
        ("without stemming", Formula(analyser=_unstemmed)),
        ("without stop words", Formula(analyser=_with_stop_words)),
        ("without either", Formula(analyser=words_of)),
        ("without joined compounds", Formula(analyser=_stemmed_words)),
        ("without length normalisation (b = 0)", Formula(b=0.0)),
        ("without saturation (k1 = 9)", Formula(k1=9.0)),
        ("without counting occurrences (k1 = 0)", Formula(k1=0.0)),
    ]


def _parameters() -> list[tuple[str, Method]]:
    changed: list[dict[str, Any]] = [
        *({"k1": k1} for k1 in (0.5, 0.75, 1.25, 1.5, 2.0)),
        *({"b": b} for b in (0.1, 0.4, 0.5, 0.75, 1.0)),
        *({"pivot": pivot} for pivot in (16.0, 24.0, 48.0, None)),
    ]
    return [
        (", ".join(f"{name} = {value or 'average'}" for name, value in each.items()), Formula(**each))
        for each in changed
    ]


def _metadata() -> list[tuple[str, Method]]:
    """Speaker and caption as metadata: what a word there is worth, in words of a summary of 32 terms."""
    return [(f"metadata x {weight}", Formula(metadata=weight)) for weight in (0, 0.25, 0.5, 0.66, 1)]


def _plain_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _stemmed_words(text: str) -> list[str]:
    return [stem(word) for word in _plain_words(text) if not is_stop_word(word) and len(word) > 1]


def _unstemmed(text: str) -> list[str]:
    return [word for word in words_of(text) if not is_stop_word(word)]


def _with_stop_words(text: str) -> list[str]:
    return [stem(word) for word in words_of(text)]


class _Postings:
    def __init__(self, formula: Formula, turns: Sequence[Turn]) -> None:
        self._formula = formula
        self._size = len(turns)
        apart = formula.metadata is not None
        summaries = [Counter(formula.analyser(turn.said if apart else turn.text)) for turn in turns]
        lengths = [summary.total() for summary in summaries]
        pivot = formula.pivot or sum(lengths) / len(lengths)
        self._impacts: dict[str, dict[int, float]] = defaultdict(dict)
        for number, (turn, summary) in enumerate(zip(turns, summaries, strict=True)):
            norm = formula.k1 * (1 - formula.b + formula.b * lengths[number] / pivot)
            for term, count in summary.items():
                self._impacts[term][number] = count * (formula.k1 + 1) / (count + norm)
            if formula.metadata:
                for term in set(formula.analyser(f"{turn.speaker}\n{turn.caption}")):
                    self._impacts[term][number] = self._impacts[term].get(number, 0) + formula.metadata

    def rank(self, question: str) -> Sequence[int]:
        """The best turns; of equals the newest."""
        scores: dict[int, float] = defaultdict(float)
        for term in set(self._formula.analyser(question)):
            impacts = self._impacts.get(term, {})
            weight = math.log2((self._size + 1) / (len(impacts) + 0.5)) if self._formula.rarity else 1.0
            for number, impact in impacts.items():
                scores[number] += weight * impact
        return sorted(scores, key=lambda number: (-round(scores[number], 9), -number))[:HITS]


def by_words(texts: Iterable[str], sessions: Sequence[str] = ()) -> RankingIndex:
    """The texts in Runlore's index, by their numbers, each in its session where there are any."""
    index = RankingIndex()
    index.apply(
        Record(
            record_id=RecordId(f"{number}"),
            layer=Layer.SEMANTIC,
            kind=Kind.FACT,
            state=State.ACTIVE,
            scope=Scope(ScopeKind.SESSION, sessions[number]) if sessions else WORKSPACE,
            summary=text,
            created_by="bench",
            created_at=NOW + timedelta(minutes=number),
        )
        for number, text in enumerate(texts)
    )
    return index


def _runlore(turns: Sequence[Turn]) -> Ranker:
    index = by_words(turn.text for turn in turns)
    where = RankFilter(now=NOW)
    return lambda question: [
        int(hit.record_id) for hit in index.search(question, where=where, limit=HITS).hits
    ]


def by_fts5(turns: Sequence[Turn]) -> Ranker:
    database = apsw.Connection(":memory:")
    database.execute("CREATE VIRTUAL TABLE turn USING fts5(text, tokenize = 'porter unicode61')")
    database.executemany(
        "INSERT INTO turn(rowid, text) VALUES (?, ?)",
        ((number, turn.text) for number, turn in enumerate(turns)),
    )

    def rank(question: str) -> Sequence[int]:
        words = [word for word in _plain_words(question) if not is_stop_word(word)]
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        rows = database.execute(
            "SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT ?", (match, HITS)
        )
        return [int(number) for (number,) in rows]

    return rank


def quality(method: Method, conversations: Iterable[Conversation]) -> tuple[str, str, str]:
    """R@5, R@10 and NDCG@10 over all questions."""
    at_5, at_10, gain = [], [], []
    for conversation in conversations:
        rank = method(conversation.turns)
        for question, evidence in conversation.questions:
            found = rank(question)
            at_5.append(len(evidence.intersection(found[:5])) / len(evidence))
            at_10.append(len(evidence.intersection(found)) / len(evidence))
            gain.append(_gain(number in evidence for number in found) / _gain([True] * len(evidence)))
    figures = (sum(each) / len(each) for each in (at_5, at_10, gain))
    first, second, third = (f"{figure:.3f}".lstrip("0") for figure in figures)
    return first, second, third


def _gain(hits: Iterable[bool]) -> float:
    return sum(1 / math.log2(place + 2) for place, hit in enumerate([*hits][:HITS]) if hit)


def locomo() -> list[Conversation]:
    """The conversations of the set."""
    return list(_conversations(json.loads(data_folder("locomo", "locomo5.json").read_text())))


def _conversations(samples: Sequence[dict[str, Any]]) -> Iterable[Conversation]:
    for sample in samples:
        spoken = [
            turn | {"session": name}
            for name, turns in sample["conversation"].items()
            if re.fullmatch(r"session_\d+", name)
            for turn in turns
        ]
        numbers = {_key(turn["dia_id"]): number for number, turn in enumerate(spoken)}
        questions = []
        for asked in sample["qa"]:
            named = {key for text in asked["evidence"] for key in EVIDENCE.findall(text)}
            evidence = frozenset(numbers[key] for key in named if key in numbers)
            if evidence:
                questions.append((asked["question"], evidence))
        yield Conversation(
            turns=[
                Turn(
                    speaker=turn["speaker"],
                    said=turn["text"],
                    caption=turn.get("blip_caption", ""),
                    session=turn["session"],
                )
                for turn in spoken
            ],
            questions=questions,
        )


def _key(dia_id: str) -> tuple[str, str]:
    found = EVIDENCE.fullmatch(dia_id)
    assert found is not None, dia_id
    return found[1], found[2]


if __name__ == "__main__":
    main()
