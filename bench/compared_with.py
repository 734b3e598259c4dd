"""One memory on one corpus, in a process of its own: `bench/compared_with.py NAME FOLDER COMMAND CORPUS`.

It is run by `bench.compared`, with Runlore's own interpreter or with that of `.venv/compared`, and so imports
at its top nothing that only one of them has. Each memory is used as its documentation shows, and every `add`
has returned before the next one is made. Prints one line of JSON; `write` prints the number of each text that
is kept.
"""

import json
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

BEGAN = time.perf_counter()
FOUND = 10
# So many texts are added one by one, and measured; the rest in the largest pieces that a memory takes.
ONE_BY_ONE = 200
PIECE = 1_000
# A memory that has not taken all of a corpus by then is given no more.
FILL_CPU_S = 150.0
FILL_S = 900.0
DIMENSIONS = 256


class Memory(Protocol):
    """What is compared."""

    def add(self, texts: Sequence[str]) -> None:
        """Keep texts; what has returned is expected to be kept."""

    def search(self, query: str) -> list[str]:
        """The best texts."""

    def texts(self) -> set[str]:
        """All that is kept."""


class WordVectors:
    """The vectors that every memory is given which wants some: those of the package wordllama."""

    def __init__(self) -> None:
        import importlib.util

        import numpy as np
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        found = importlib.util.find_spec("wordllama")
        assert found is not None
        assert found.submodule_search_locations is not None
        folder = Path(found.submodule_search_locations[0])
        weights = load((folder / "weights/l2_supercat_256.safetensors").read_bytes())
        self._rows = weights["embedding.weight"][:, :DIMENSIONS].astype(np.float32)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
        self._norm = np.linalg.norm

    def embed_one(self, text: str, *_: object) -> list[float]:
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids
        vector = self._rows[tokens].sum(axis=0)
        plain: list[float] = (vector / (self._norm(vector) or 1.0)).tolist()
        return plain

    def embed_many(self, texts: Sequence[str], *_: object) -> list[list[float]]:
        return [self.embed_one(text) for text in texts]

    embed, embed_batch = embed_one, embed_many


class Runlore:
    """Runlore, embedded: each text is proposed and published, many at once as an import brings them."""

    def __init__(self, folder: str) -> None:
        from runlore.config.settings import Settings
        from runlore.daemon.app import Application
        from runlore.daemon.wiring import open_parts
        from runlore.domain.access import LOCAL_OPERATOR

        self._parts = open_parts(Settings(state_root=folder))
        self._operations = Application(self._parts, LOCAL_OPERATOR)
        self._added = 0
        self._session: Any = None

    def add(self, texts: Sequence[str]) -> None:
        from runlore.domain.record import Kind
        from runlore.ports import operations as ops

        if len(texts) > 1:
            self._load(texts)
            return
        for text in texts:
            candidate = self._operations.create_candidate(ops.NewCandidate(kind=Kind.FACT, content=text))
            self._operations.publish(ops.Publication(record_id=candidate.record_id, accept_untrusted=True))

    def search(self, query: str) -> list[str]:
        from runlore.ports import operations as ops

        hits = self._operations.search(ops.SearchRequest(query=query, limit=FOUND)).items
        return [hit.record.summary for hit in hits]

    def context(self, query: str) -> None:
        from runlore.ports import operations as ops

        if not self._session:
            self._session = self._operations.create_session(ops.NewSession()).session_id
        self._operations.memory_context(ops.ContextRequest(session_id=self._session, query=query))

    def settle(self) -> None:
        """What a daemon does in the background: the index is made, and saved at its end."""
        self.search("anything")
        self._parts.close()

    def texts(self) -> set[str]:
        with self._parts.store.snapshot() as snapshot:
            return {record.summary for record, _ in snapshot.records.everything()}

    def _load(self, texts: Sequence[str]) -> None:
        from dataclasses import replace
        from datetime import UTC, datetime

        from runlore.domain.record import Kind, Move, PolicyDecision, PublishTier, Record, RecordId, State
        from runlore.domain.records.audit import Act, apply_record_move, create_record
        from runlore.domain.scope import WORKSPACE

        act, histories = Act(actor="operator", at=datetime.now(UTC)), []
        decided: dict[str, Any] = {
            "publish_tier": PublishTier.ACTIVE,
            "policy_decision": PolicyDecision.MANUAL,
            "policy_actor": "operator",
            "published_at": act.at,
        }
        for text in texts:
            self._added += 1
            record = Record(
                record_id=RecordId(f"rec_{self._added:012}"),
                layer=Kind.FACT.layer,
                kind=Kind.FACT,
                state=State.CONSTRAINED,
                scope=WORKSPACE,
                summary=text,
                metadata={"origin": "candidate", "topic_tags": []},
                created_by="operator",
                created_at=act.at,
            )
            first = create_record(record, Move.PROPOSE, act)
            published = replace(first.record, **decided)
            second = apply_record_move(first.record, Move.CONFIRM, act, after=published)
            histories.append((second.record, (first.event, second.event)))
        with self._parts.store.transaction() as tx:
            tx.load(histories)


class Fts5:
    """A table of SQLite's full text search, as one would write it in an afternoon: a commit for each add."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._file = sqlite3.connect(f"{folder}/memory.db")
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS memory USING fts5(text, tokenize = 'porter unicode61')"
        )

    def add(self, texts: Sequence[str]) -> None:
        self._file.executemany("INSERT INTO memory VALUES (?)", [(text,) for text in texts])
        self._file.commit()

    def search(self, query: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in query.replace('"', " ").split())
        sql = "SELECT text FROM memory WHERE memory MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in self._file.execute(sql, (words, FOUND))]

    def texts(self) -> set[str]:
        return {row[0] for row in self._file.execute("SELECT text FROM memory")}


class Tantivy:
    """An index of tantivy with its English stemmer, committed for each add."""

    def __init__(self, folder: str) -> None:
        import tantivy

        os.makedirs(folder, exist_ok=True)
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=True, tokenizer_name="en_stem")
        self._tantivy = tantivy
        self._index = tantivy.Index(builder.build(), path=folder)
        self._writer: Any = None

    def add(self, texts: Sequence[str]) -> None:
        self._writer = self._writer or self._index.writer()
        for text in texts:
            self._writer.add_document(self._tantivy.Document(text=text))
        self._writer.commit()
        self._index.reload()

    def search(self, query: str) -> list[str]:
        words = "".join(letter if letter.isalnum() else " " for letter in query)
        searcher = self._index.searcher()
        hits = searcher.search(self._index.parse_query(words, ["text"]), FOUND).hits
        return [searcher.doc(address)["text"][0] for _, address in hits]

    def texts(self) -> set[str]:
        searcher = self._index.searcher()
        every = searcher.search(self._tantivy.Query.all_query(), max(1, searcher.num_docs)).hits
        return {searcher.doc(address)["text"][0] for _, address in every}


class Chroma:
    """A persistent collection of chromadb with its HNSW index."""

    def __init__(self, folder: str) -> None:
        import chromadb
        from chromadb.config import Settings

        self._vectors = WordVectors()
        self._client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
        self._kept = self._client.get_or_create_collection(
            "memory", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )
        self._added = self._kept.count()

    def add(self, texts: Sequence[str]) -> None:
        ids = [str(self._added + number) for number in range(len(texts))]
        self._added += len(texts)
        self._kept.add(ids=ids, documents=list(texts), embeddings=self._vectors.embed_many(texts))

    def search(self, query: str) -> list[str]:
        found = self._kept.query(query_embeddings=[self._vectors.embed_one(query)], n_results=FOUND)
        return list(found["documents"][0])

    def texts(self) -> set[str]:
        return set(self._kept.get(include=["documents"])["documents"])


class LangGraph:
    """LangGraph's SqliteStore with its vector index, which is sqlite-vec."""

    def __init__(self, folder: str) -> None:
        from langgraph.store.sqlite import SqliteStore

        # Many Pythons are built without extensions of SQLite, which the index is one of.
        from pysqlite3 import dbapi2

        os.makedirs(folder, exist_ok=True)
        vectors = WordVectors()
        file = dbapi2.connect(f"{folder}/store.db", check_same_thread=False, isolation_level=None)
        self._store = SqliteStore(
            file, index={"dims": DIMENSIONS, "embed": vectors.embed_many, "fields": ["text"]}
        )
        self._store.setup()
        self._added = int(file.execute("SELECT count(*) FROM store").fetchone()[0])
        self._file = file

    def add(self, texts: Sequence[str]) -> None:
        from langgraph.store.base import PutOp

        self._store.batch(
            [
                PutOp(namespace=("memory",), key=str(self._added + number), value={"text": text})
                for number, text in enumerate(texts)
            ]
        )
        self._added += len(texts)

    def search(self, query: str) -> list[str]:
        return [item.value["text"] for item in self._store.search(("memory",), query=query, limit=FOUND)]

    def texts(self) -> set[str]:
        return {json.loads(row[0])["text"] for row in self._file.execute("SELECT value FROM store")}


class Mem0:
    """mem0 with faiss, without a model between: texts are kept as they are (`infer=False`)."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        os.environ.update({"MEM0_TELEMETRY": "False", "MEM0_DIR": folder, "OPENAI_API_KEY": "none"})
        from mem0 import Memory as Mem0Memory

        self._memory = Mem0Memory.from_config(
            {
                "vector_store": {
                    "provider": "faiss",
                    "config": {
                        "path": f"{folder}/faiss",
                        "collection_name": "memory",
                        "embedding_model_dims": DIMENSIONS,
                    },
                },
                "history_db_path": f"{folder}/history.db",
            }
        )
        self._memory.embedding_model = WordVectors()

    def add(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._memory.add(text, user_id="user", infer=False)

    def search(self, query: str) -> list[str]:
        found = self._memory.search(query, filters={"user_id": "user"}, top_k=FOUND, threshold=0.0)
        return [each["memory"] for each in found["results"]]

    def texts(self) -> set[str]:
        found = self._memory.get_all(filters={"user_id": "user"}, top_k=10_000_000)
        return {each["memory"] for each in found["results"]}


MEMORIES: dict[str, Callable[[str], Memory]] = {
    "runlore": Runlore,
    "fts5": Fts5,
    "tantivy": Tantivy,
    "chromadb": Chroma,
    "langgraph": LangGraph,
    "mem0": Mem0,
}


def work() -> None:
    """Do one of the commands."""
    name, folder, command, corpus_file = sys.argv[1:5]
    corpus = json.loads(Path(corpus_file).read_text(encoding="utf-8"))
    memory = MEMORIES[name](folder)
    if command == "write":
        write(memory, corpus["texts"])
    elif command == "texts":
        print(json.dumps(sorted(memory.texts())))
    else:
        one_by_one = 0 if corpus.get("at_once") else ONE_BY_ONE
        told = fill(memory, corpus["texts"], one_by_one) if command == "fill" else ask(memory, corpus)
        print(json.dumps(told))


def fill(memory: Memory, texts: Sequence[str], one_by_one: int = ONE_BY_ONE) -> dict[str, object]:
    """Add all: some one by one, then the rest."""
    until, cpu_until = time.perf_counter() + FILL_S, time.process_time() + FILL_CPU_S
    taken = []
    for text in texts[:one_by_one]:
        began = time.perf_counter()
        memory.add([text])
        taken.append(time.perf_counter() - began)
    first = added = len(taken)
    began = time.process_time()
    while added < len(texts) and time.perf_counter() < until and time.process_time() < cpu_until:
        memory.add(texts[added : added + PIECE])
        added = min(added + PIECE, len(texts))
    rest_s = time.process_time() - began
    if (settle := getattr(memory, "settle", None)) is not None:
        settle()
    return {
        "add_ms": 1e3 * sorted(taken)[len(taken) // 2] if taken else None,
        "rest_ms": 1e3 * rest_s / max(1, added - first),
        "added": added,
    }


def ask(memory: Memory, corpus: Any) -> dict[str, object]:
    """The first answer of a new process, then how fast and how well it finds."""
    texts, questions = corpus["texts"], corpus["questions"]
    memory.search(questions[0][0])
    first_s = time.perf_counter() - BEGAN
    taken, wall, firsts, found = [], [], 0, 0.0
    for query, wanted in questions:
        cpu, began = time.process_time(), time.perf_counter()
        hits = memory.search(query)
        taken.append(time.process_time() - cpu)
        wall.append(time.perf_counter() - began)
        gold = {texts[number] for number in wanted}
        firsts += bool(hits and hits[0] in gold)
        found += len(gold.intersection(hits)) / len(gold)
    context = getattr(memory, "context", None)
    context_s = _median_s(context, [query for query, _ in questions[:50]]) if context else None
    return {
        "first_s": first_s,
        "cpu_ms": 1e3 * sorted(taken)[len(taken) // 2],
        "p95_ms": 1e3 * sorted(wall)[len(wall) * 95 // 100],
        "context_ms": None if context_s is None else 1e3 * context_s,
        "hit_1": firsts / len(questions),
        "recall_10": found / len(questions),
        "memory_mb": _peak_memory_mb(),
    }


def _peak_memory_mb() -> float:
    """The most that this process has held; what its parent held before it is not counted."""
    told = Path("/proc/self/status")
    if not told.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    line = next(line for line in told.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def write(memory: Memory, texts: Sequence[str]) -> None:
    """Add one after the other, and tell of each, until somebody ends it."""
    for number, text in enumerate(texts):
        memory.add([text])
        os.write(1, f"{number}\n".encode())


def _median_s(call: Callable[[str], object], queries: Sequence[str]) -> float:
    taken = []
    for query in queries:
        began = time.process_time()
        call(query)
        taken.append(time.process_time() - began)
    return sorted(taken)[len(taken) // 2]


if __name__ == "__main__":
    work()
