"""How often what was said in a conversation is found again: short turns, long messages, sessions as runs.

Turns are those of LoCoMo (`ranking_quality` names it), long messages those of `conversation_messages`, which
says how its questions are made. Each method sees the same texts, one index for each conversation or person.
Nothing was tuned on the part that is called reported: the last two conversations, and four people.
The last table has the same turns as runs of a Runlore that stores them, each found through `session_search`;
of each part the first conversation. What FTS5 and BM25 are is said in `ranking_quality`.
"""

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial

from bench.conversation_messages import told_by_people
from bench.fusion_sets import DEPTH, EMBEDDING_S, by_vectors
from bench.learned_context import OPERATOR
from bench.measure import print_table
from bench.ranking_quality import (
    HITS,
    NOW,
    Conversation,
    Formula,
    Method,
    Ranker,
    Turn,
    by_fts5,
    by_words,
    locomo,
    quality,
)
from runlore.config.settings import Settings
from runlore.daemon.wiring import open_parts
from runlore.domain.errors import RunloreError
from runlore.domain.run import RunStatus
from runlore.domain.search.ranking import RankFilter, WordHit, fuse
from runlore.domain.session import SessionId
from runlore.models.embedding import open_embedder
from runlore.ports import operations as ops
from runlore.ports.embedder import LOCAL_MODELS, Embedder, EmbeddingBackend, EmbeddingProvider

TITLE = "finding what was said: turns, long messages, and sessions as runs"

_TUNED = 3
_COLUMNS = [
    "method",
    *(f"{part} {name}" for part in ("tuned", "reported") for name in ("R@5", "R@10", "NDCG")),
]


def main() -> None:
    """Print the tables."""
    turns = locomo()
    people = told_by_people()
    messages = {
        part: [
            Conversation(
                turns=[
                    Turn(speaker="", said=each.text, caption="", session=each.session)
                    for each in person.messages
                ],
                questions=person.questions,
            )
            for person in people
            if person.is_reported is part
        ]
        for part in (False, True)
    }
    methods: list[tuple[str, Method]] = [
        ("BM25 Okapi, k1 1.5, b 0.75, Runlore's analyser", Formula(k1=1.5, b=0.75, pivot=None)),
        ("SQLite FTS5 bm25, porter, stop words", by_fts5),
        ("Runlore, words, no session", partial(_rank_by_words, in_sessions=False)),
        ("Runlore, words", _rank_by_words),
        *_with_vectors(),
    ]
    _print("turns", turns[:_TUNED], turns[_TUNED:], methods)
    _print("long messages", messages[False], messages[True], methods)
    through: list[tuple[str, Method]] = [("Runlore, runs through the daemon", _rank_by_daemon), *methods[1:4]]
    _print("turns as runs", turns[:1], turns[_TUNED : _TUNED + 1], through)


def _print(
    name: str,
    tuned: Sequence[Conversation],
    reported: Sequence[Conversation],
    methods: Sequence[tuple[str, Method]],
) -> None:
    counts = [
        (sum(len(each.turns) for each in part), sum(len(each.questions) for each in part))
        for part in (tuned, reported)
    ]
    sizes = [f"{texts:,} texts, {asked:,} questions" for texts, asked in counts]
    print(f"{name}: {sizes[0]} tuned on; {sizes[1]} reported\n")
    print_table(
        _COLUMNS, [[title, *quality(method, tuned), *quality(method, reported)] for title, method in methods]
    )
    print(flush=True)


def _rank_by_words(turns: Sequence[Turn], *, in_sessions: bool = True) -> Ranker:
    sessions = [turn.session for turn in turns] if in_sessions else []
    index = by_words((turn.text for turn in turns), sessions)
    where = RankFilter(now=NOW)
    return lambda question: [
        int(hit.record_id) for hit in index.search(question, where=where, limit=HITS).hits
    ]


def _with_vectors() -> list[tuple[str, Method]]:
    found: list[tuple[str, Method]] = []
    for model in LOCAL_MODELS:
        embedder = open_embedder(EmbeddingBackend(provider=EmbeddingProvider.LOCAL, model=model))
        try:
            embedder.embed(["a text"], timeout_s=EMBEDDING_S)
        except RunloreError as error:
            print(f"without vectors of {model}: {error}\n")
        else:
            found.append((f"Runlore, words and vectors of {model}", partial(_rank_by_both, embedder)))
    return found


def _rank_by_both(embedder: Embedder, turns: Sequence[Turn]) -> Ranker:
    texts = [turn.text for turn in turns]
    words, vectors = by_words(texts, [turn.session for turn in turns]), by_vectors(texts, embedder)

    def rank(question: str) -> Sequence[int]:
        found = words.search(question, where=RankFilter(now=NOW), limit=DEPTH).hits
        (vector,) = embedder.embed([question], timeout_s=EMBEDDING_S)
        similar = vectors.search(vector, limit=DEPTH, also=[hit.record_id for hit in found])
        hits = [WordHit(key=hit.record_id, total=hit.total) for hit in found]
        return [int(hit.key) for hit in fuse(hits, similar, limit=HITS)]

    return rank


def _rank_by_daemon(turns: Sequence[Turn]) -> Ranker:
    """Every turn a run of its session, in a store of its own."""
    folder = tempfile.mkdtemp(prefix="runlore-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    application = open_parts(Settings(state_root=folder)).operations(OPERATOR)
    numbers: dict[str, int] = {}
    for session in dict.fromkeys(turn.session for turn in turns):
        application.create_session(ops.NewSession(session_id=SessionId(session)))
    for number, turn in enumerate(turns):
        asked = ops.NewRun(session_id=SessionId(turn.session), request=turn.text)
        run = application.open_run(asked).run
        application.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
        numbers[run.run_id] = number
    first = SessionId(turns[0].session)

    def rank(question: str) -> Sequence[int]:
        found = application.session_search(
            ops.SessionSearchRequest(session_id=first, query=question, limit=HITS)
        )
        return [numbers[hit.source_id] for hit in found.results]

    return rank


if __name__ == "__main__":
    main()
