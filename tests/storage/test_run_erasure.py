"""Forgotten runs and sessions leave no byte of their texts in any file of the state root."""

import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from runlore.domain.prompts.projection import Receipt, ReceiptEntry, ReceiptSection, SectionName
from runlore.domain.prompts.run_memory import Capture, CaptureState
from runlore.domain.record import RecordId
from runlore.domain.run import ArtifactId, MemoryState, Run, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.transcript import Position
from runlore.domain.serialization.codec import erase
from runlore.domain.session import Session
from runlore.domain.taint import TRUSTED, Provenance
from runlore.ports.store import Store, Transaction
from tests.storage.kept_skills import curated, documented, kept
from tests.storage.kept_skills import told as spoken
from tests.storage.places import PostgresPlace, SqlitePlace
from tests.storage.promoted_values import asked, executed, kept_promoted
from tests.storage.promoted_values import told as spelled
from tests.storage.run_values import BUDGET, artifact, at, changed, keep, run, said, session
from tests.storage.skill_values import mined_of, moved, stored, suggested

pytestmark = pytest.mark.req("LRN-12", "JRN-1")

LENGTHS = (1, 1, 2, 20, 200, 900)


@dataclass(frozen=True, kw_only=True)
class Told:
    """A session with one run, whose every text says which one it is."""

    number: int
    session: Session
    run: Run

    @property
    def word(self) -> str:
        """What stands in all its texts."""
        return f"zebra{self.number:05}x"


def _told(number: int) -> Told:
    one = session(f"s{number:05}")
    return Told(number=number, session=one, run=run(one, f"r{number:05}"))


def _live(store: Store, choices: random.Random, everything: list[Told]) -> None:
    """Everything happens to all of them among each other, as it does where many agents work at once."""
    for told in everything:
        keep(store, replace(told.session, title=told.word), told.run)
    for _ in range(3):
        for told in choices.sample(everything, len(everything)):
            text = " ".join([told.word] * choices.choice(LENGTHS))
            with store.transaction() as tx:
                kinds = (EventType.INPUT, EventType.ASSISTANT_MESSAGE, EventType.TOOL_RESULT)
                entries = [said(text, kind) for kind in kinds]
                tx.journal.append(told.session.session_id, told.run.run_id, entries, at(1))
                tx.runs.put_artifact(artifact(told.run, name=None, text=text))
                tx.runs.put_receipt(_receipt(told, text))
                tx.captures.put(_capture(told, text if choices.random() < 0.7 else ""))
                _rename(tx, told, choices, text)
                _learn(tx, told, text)
    for told in choices.sample(everything, len(everything)):
        with store.transaction() as tx:
            going = tx.runs.get(told.run.run_id)
            ended = changed(going, status=RunStatus.FAILED, finished_at=at(5), error=told.word * 9)
            tx.runs.update(ended, expected_revision=going.revision)


def _rename(tx: Transaction, told: Told, choices: random.Random, text: str) -> None:
    current = tx.sessions.get(told.session.session_id)
    folder = f"/home/{text}" if choices.random() < 0.5 else None
    renamed = changed(current, title=text[:200], working_folder=folder)
    tx.sessions.update(renamed, expected_revision=current.revision)
    going = tx.runs.get(told.run.run_id)
    explained = changed(going, reason=text, model="m" * choices.randint(1, 90))
    tx.runs.update(explained, expected_revision=going.revision)


def _learn(tx: Transaction, told: Told, text: str) -> None:
    tx.mined_runs.put(mined_of(told.run, agent=text, project=told.word))
    name = f"{told.word}-{len(text)}"
    skill = suggested(name, told.run.run_id, body=text, pattern=text + told.word)
    if not (known := tx.suggestions.of_runs([told.run.run_id])):
        tx.suggestions.insert(stored(told.number, skill))
    else:
        again = moved(known[0], suggestion=skill)
        tx.suggestions.update(again, expected_revision=known[0].revision)
    _make_skill(tx, told, text)
    _promote(tx, told, text)
    position = Position(line=len(text), fingerprint=told.word, carried={"folder": text})
    tx.transcript_positions.put(
        f"source {told.number}", position, at(1), session_ids=[told.session.session_id]
    )


def _make_skill(tx: Transaction, told: Told, text: str) -> None:
    document = documented(f"{told.word}-{len(text)}", body=text, description=told.word)
    made = kept(told.number, document, pattern=told.word)
    if not (known := tx.skills.of_suggestions([stored(told.number).suggestion_id])):
        tx.skills.insert(made)
        tx.curations.insert(curated(told.number, made, kept(90_000 + told.number)))
    else:
        again = replace(made, revision=known[0].revision + 1)
        tx.skills.update(again, expected_revision=known[0].revision)
    tx.skills.log(spoken(told.number, name=document.name, reason=text))


def _promote(tx: Transaction, told: Told, text: str) -> None:
    name, source = f"promoted-{told.number}", RecordId(f"rec_{told.number}")
    known = tx.promotions.find(name)
    definition = spelled(name, instructions=text, description=told.word)
    made = kept_promoted(name, definition=definition, source_record_id=source)
    again = made if known is None else replace(made, revision=known.revision + 1)
    tx.promotions.put(again, expected_revision=None if known is None else known.revision)
    tx.promotions.add_execution(executed(run_id=told.run.run_id, skill_name=name))
    number = told.number * 10 + (0 if known is None else known.revision)
    tx.approvals.insert(asked(number, run_id=told.run.run_id, question=text, arguments={text: told.word}))


def _forget(store: Store, told: Told) -> None:
    with store.transaction() as tx:
        tx.journal.erase_session(told.session.session_id)
        tx.runs.delete_artifacts(tx.runs.artifact_names(told.run.run_id))
        tx.runs.delete_receipts([told.run.run_id])
        tx.captures.delete([told.run.run_id])
        tx.approvals.delete([told.run.run_id])
        tx.promotions.delete_executions([told.run.run_id])
        for promoted in tx.promotions.of_source(RecordId(f"rec_{told.number}")):
            history = [(number, erase(each)) for number, each in tx.promotions.history(promoted.name)]
            tx.promotions.rewrite(erase(promoted), history)
        tx.mined_runs.delete([told.run.run_id])
        seen = tx.suggestions.of_runs([told.run.run_id])
        learned = tx.skills.of_suggestions([each.suggestion_id for each in seen])
        tx.skills.delete([each.skill_id for each in learned])
        tx.suggestions.delete([each.suggestion_id for each in seen])
        tx.transcript_positions.delete_of_sessions([told.session.session_id])
        ended = tx.runs.get(told.run.run_id)
        silent = changed(ended, error="", reason="", memory=MemoryState.FORGOTTEN)
        tx.runs.update(silent, expected_revision=ended.revision)
        current = tx.sessions.get(told.session.session_id)
        blank = changed(current, title="", working_folder=None, forgotten_at=at(9))
        tx.sessions.update(blank, expected_revision=current.revision)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_of_what_was_forgotten_is_left_in_any_file(sqlite_place: SqlitePlace, seed: int) -> None:
    choices = random.Random(seed)
    store = sqlite_place.open()
    everything = [_told(number) for number in range(60)]
    _live(store, choices, everything)
    first, later = set(choices.sample(range(60), 20)), set(choices.sample(range(90), 40))

    for number in sorted(first):
        _forget(store, everything[number])
    more = [_told(number) for number in range(60, 90)]
    _live(store, choices, more)
    everything += more
    for number in sorted(later):
        _forget(store, everything[number])
    store.scrub()

    gone = first | later
    assert _words_in(sqlite_place.root) == {told.word for told in everything if told.number not in gone}


def test_retention_deletes_artifacts_and_leaves_no_copy_of_them_or_their_neighbours(
    sqlite_place: SqlitePlace,
) -> None:
    choices = random.Random(0)
    store = sqlite_place.open()
    one = session("one")
    going = run(one)
    keep(store, one, going)
    words = [f"zebra{number:05}x" for number in range(600)]
    with store.transaction() as tx:
        for number, word in enumerate(words):
            text = " ".join([word] * choices.choice((1, 2, 20, 90)))
            tx.runs.put_artifact(artifact(going, f"art_{number:05}", text=text))
    gone = choices.sample(range(600), 540)
    for first in range(0, 540, 20):
        with store.transaction() as tx:
            deleted = [ArtifactId(f"art_{number:05}") for number in gone[first : first + 20]]
            assert tx.runs.delete_artifacts(deleted) == 20
    store.scrub()

    kept = set(range(600)) - set(gone)
    assert _words_in(sqlite_place.root) == {words[number] for number in kept}


def test_on_postgres_no_row_holds_the_text_any_more(postgres_place: PostgresPlace) -> None:
    store = postgres_place.open()
    told = _told(1)
    _live(store, random.Random(0), [told])
    _forget(store, told)
    store.scrub()

    tables = (
        "sessions",
        "runs",
        "journal",
        "texts",
        "artifacts",
        "receipts",
        "receipt_sources",
        "run_captures",
        "mined_runs",
        "suggestions",
        "suggestion_runs",
        "skills",
        "skill_suggestions",
        "skill_events",
        "curations",
        "promoted_skills",
        "promoted_history",
        "skill_executions",
        "approvals",
        "transcript_positions",
        "transcript_sessions",
        "session_parents",
    )
    rows = str([postgres_place.sql(f"SELECT * FROM {table}") for table in tables])

    assert told.word not in rows
    assert told.run.run_id in rows


def _capture(told: Told, source: str) -> Capture:
    outside = Provenance(untrusted=True, needs_review=True, sources=(source,))
    return Capture(
        run_id=told.run.run_id,
        session_id=told.session.session_id,
        opened_at=at(0),
        state=CaptureState.COMPLETED,
        provenance=outside if source else TRUSTED,
    )


def _receipt(told: Told, text: str) -> Receipt:
    entry = ReceiptEntry(source_id="rec_1", revision=None, score=None, tokens=1, text=text)
    section = ReceiptSection(
        name=SectionName.RECOVERED_MEMORY, tokens=1, truncated=False, digest="", entries=(entry,)
    )
    return Receipt(
        run_id=told.run.run_id, at=at(0), renderer=1, sections=(section,), omissions=(), budget=BUDGET
    )


def _words_in(root: Path) -> set[str]:
    """The words that stand anywhere in the files; the ballast is only room on the disk."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and path.name != "ballast"]
    found = (re.findall(rb"zebra\d{5}x", path.read_bytes()) for path in files)
    return {word.decode() for words in found for word in words}
