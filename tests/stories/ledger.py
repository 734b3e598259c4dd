"""What a worker was told is kept, and what has to be true of the store whenever it was killed."""

import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from runlore.config.settings import Settings
from runlore.daemon.app import Parts
from runlore.daemon.wiring import open_parts
from runlore.domain.record import Record, RecordId, StateReason
from runlore.domain.records.audit import RecordEvent, replay
from tests.flow.reference import breaches
from tests.stories.kill_worker import TOKEN, digest
from tests.world import inconsistencies, replayed

Histories = dict[RecordId, tuple[RecordEvent, ...]]


@dataclass(kw_only=True)
class Ledger:
    """Everything that workers said, in their order."""

    answered: dict[RecordId, dict[int, str]] = field(default_factory=dict)
    together: dict[str, set[RecordId]] = field(default_factory=dict)
    begun: dict[str, Any] | None = None
    forgotten: set[RecordId] = field(default_factory=set)
    forgotten_tokens: set[str] = field(default_factory=set)
    acts: Counter[str] = field(default_factory=Counter)
    seen: Histories = field(default_factory=dict)
    records: dict[RecordId, Record] = field(default_factory=dict)
    interrupted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def note(self, line: dict[str, Any]) -> None:
        """Take down what a worker said."""
        if "begin" in line:
            self.begun = line
            if line["moves"]:
                self.together[line["reason"]] = set(line["moves"])
            return
        begun, self.begun = self.begun, None
        assert begun is not None
        if "refused" in line:
            self.refused[line["code"]] += 1
            self.together.pop(begun["reason"], None)
            return
        self.acts[begun["act"]] += 1
        for record_id, revision, said in line["records"]:
            self.answered.setdefault(record_id, {})[revision] = said
        if begun["act"] == "forget":
            self.forgotten.update(begun["moves"])
            self.forgotten_tokens.update(begun["tokens"])

    def note_the_end(self) -> None:
        """The worker was killed: what it had begun may be done or not."""
        if self.begun is not None:
            self.interrupted[self.begun["act"]] += 1
        self.begun = None

    def check(self, settings: Settings) -> None:
        """Start on what the worker left behind, and hold it against what it was told."""
        parts = open_parts(settings)
        try:
            histories = _histories(parts)
            moved = {i: events for i, events in histories.items() if self.seen.get(i) != events}
            self.records.update(replayed(moved))
            with parts.store.snapshot() as snapshot:
                assert snapshot.records.get_many(list(histories)) == self.records
            assert breaches(self.records, parts.clock.now()) == []
        finally:
            parts.close()
        assert self.seen.keys() <= histories.keys()
        self.seen = histories
        self._check_answers(moved)
        self._check_acts()
        self._check_forgotten(settings)
        assert inconsistencies(settings) == []

    def _check_answers(self, moved: Histories) -> None:
        """Nothing that was acknowledged is lost or changed."""
        for record_id, revisions in self.answered.items():
            events = self.seen[record_id]
            assert len(events) >= max(revisions), f"{record_id} has lost what was acknowledged"
            if record_id not in moved or self._is_forgotten(record_id):
                continue
            for revision, said in revisions.items():
                assert digest(replay(events[:revision])) == said

    def _check_acts(self) -> None:
        """An act moved all that it moves together, or nothing."""
        moved: dict[str, set[RecordId]] = {}
        for record_id, events in self.seen.items():
            for event in events:
                if event.revision > 1:
                    moved.setdefault(event.reason, set()).add(record_id)
        for reason, wanted in self.together.items():
            done = moved.get(reason, set())
            erased = {record_id for record_id in wanted if self._is_forgotten(record_id)}
            # A forgotten record's events have lost their reasons.
            assert not done or done | erased == wanted | done & wanted, (
                f"half of {reason}: {done} of {wanted}"
            )

    def _check_forgotten(self, settings: Settings) -> None:
        """What was forgotten is gone from records, events and files."""
        assert all(self._is_forgotten(record_id) for record_id in self.forgotten)
        changes = [event.changes for events in self.seen.values() for event in events]
        assert self.forgotten_tokens.isdisjoint(TOKEN.findall(orjson.dumps(changes).decode()))
        assert _files_with_any(Path(settings.state_root), self.forgotten_tokens) == []

    def _is_forgotten(self, record_id: RecordId) -> bool:
        return self.records[record_id].state_reason is StateReason.FORGOTTEN


def _histories(parts: Parts) -> Histories:
    with parts.store.snapshot() as snapshot:
        return {record.record_id: events for record, events in snapshot.records.everything()}


def _files_with_any(root: Path, words: set[str]) -> list[str]:
    told = subprocess.run(
        ["grep", "-rlawF", "-f", "-", str(root)],
        input="\n".join(sorted(words)) or "nothing was forgotten",
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.splitlines()
