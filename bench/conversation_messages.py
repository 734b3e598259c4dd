"""Long messages with questions: what people and agents wrote in their sessions, and what is asked about it.

How the set is made, by rule, of the sessions in `transcripts/` and the gold in `gold/`:

1. The texts are a person's messages and those of the agents that answered, in their order. Calls and their
   results are left out. The person's are short as a rule, the agents' long.
2. A question is what a reader noted of a message worth keeping, in the reader's words (`says`).
3. Its answers are the person's messages of that session in which the quoted words stand, and those of the
   lines that say the same (`group`).
4. The people whom `learning_people` sets aside are the reported part, all others the tuned one.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.learning_gold import gold_rows, owner_of_runs, transcript_folders
from bench.learning_people import is_set_aside, person_id
from bench.measure import data_folder
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.domain.runs.journal import EventType, text_of
from runlore.domain.runs.transcript import ReadCounts

_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message, and which session it stands in."""

    session: str
    text: str
    is_persons: bool


@dataclass(kw_only=True)
class Told:
    """All messages of a person in their order, and the questions with the numbers of their answers."""

    is_reported: bool
    messages: list[Message] = field(default_factory=list)
    questions: list[tuple[str, frozenset[int]]] = field(default_factory=list)


def told_by_people() -> list[Told]:
    """Everybody about whom something can be asked."""
    found: dict[str, Told] = {}
    owner_of: dict[str, str] = {}
    for folder, name in transcript_folders():
        for source in local_transcripts().find([str(folder)]):
            stem = Path(source.path).name.partition(".")[0]
            runs = list(local_transcripts().read(source, ReadCounts()))
            owner = owner_of[stem] = person_id(name or owner_of_runs(runs))
            told = found.setdefault(owner, Told(is_reported=is_set_aside(owner)))
            for run in runs:
                for event in run.events:
                    kind, text = event.entry.type, text_of(event.entry.body)
                    if kind in (EventType.INPUT, EventType.ASSISTANT_MESSAGE) and text.strip():
                        told.messages.append(
                            Message(session=stem, text=text, is_persons=kind is EventType.INPUT)
                        )
    _ask(found, owner_of)
    return [told for told in found.values() if told.questions]


def _ask(found: Mapping[str, Told], owner_of: Mapping[str, str]) -> None:
    for name in ("statements.jsonl", "people-statements.jsonl"):
        rows = [
            row for row in gold_rows(data_folder("gold", name)) if row["says"] and row["session"] in owner_of
        ]
        answers: dict[str, set[int]] = defaultdict(set)
        for number, row in enumerate(rows):
            told = found[owner_of[str(row["session"])]]
            answers[_group(row, number)] |= _places(told, str(row["session"]), str(row["quote"]))
        for number, row in enumerate(rows):
            if here := answers[_group(row, number)]:
                owner = found[owner_of[str(row["session"])]]
                owner.questions.append((str(row["says"]), frozenset(here)))


def _group(row: Mapping[str, object], number: int) -> str:
    return str(row["group"] or f"line {number}")


def _places(told: Told, session: str, quote: str) -> set[int]:
    """The person's messages of a session in which the quoted words stand."""
    words = " ".join(_WORDS.findall(quote.lower()))
    return {
        number
        for number, message in enumerate(told.messages)
        if message.is_persons
        and message.session == session
        and words in " ".join(_WORDS.findall(message.text.lower()))
    }
