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
from runlore.domain.audit import RecordEvent, event_to_plain, replay
from runlore.domain.record import RecordId, StateReason
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

    def check(self, settings: Settings, *, thoroughly: bool) -> None:
        """Start on what the worker left behind, and hold it against what it was told."""
        parts = open_parts(settings)
        try:
            histories = _histories(parts)
            records = replayed(histories)
            with parts.store.snapshot() as snapshot:
                assert snapshot.records.get_many(list(histories)) == records
            assert breaches(records, parts.clock.now()) == []
        finally:
            parts.close()
        self._check_answers(histories)
        self._check_acts(histories)
        self._check_forgotten(settings, histories)
        if thoroughly:
            assert inconsistencies(settings) == []

    def _check_answers(self, histories: Histories) -> None:
        """Nothing that was acknowledged is lost or changed."""
        for record_id, revisions in self.answered.items():
            events = histories[record_id]
            assert len(events) >= max(revisions), f"{record_id} has lost what was acknowledged"
            if replay(events).state_reason is StateReason.FORGOTTEN:
                continue
            for revision, said in revisions.items():
                assert digest(replay(events[:revision])) == said

    def _check_acts(self, histories: Histories) -> None:
        """An act moved all that it moves together, or nothing."""
        moved: dict[str, set[RecordId]] = {}
        for record_id, events in histories.items():
            for event in events:
                if event.revision > 1:
                    moved.setdefault(event.reason, set()).add(record_id)
        for reason, wanted in self.together.items():
            done = moved.get(reason, set())
            erased = {r for r in wanted if replay(histories[r]).state_reason is StateReason.FORGOTTEN}
            # A forgotten record's events have lost their reasons.
            assert not done or done | erased == wanted | done & wanted, (
                f"half of {reason}: {done} of {wanted}"
            )

    def _check_forgotten(self, settings: Settings, histories: Histories) -> None:
        """What was forgotten is gone from records, events and files."""
        for record_id in self.forgotten:
            assert replay(histories[record_id]).state_reason is StateReason.FORGOTTEN
        events = [event_to_plain(event) for each in histories.values() for event in each]
        text = orjson.dumps(events).decode()
        assert self.forgotten_tokens.isdisjoint(TOKEN.findall(text))
        assert _files_with_any(Path(settings.state_root), self.forgotten_tokens) == []


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
