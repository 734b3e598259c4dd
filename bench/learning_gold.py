"""What the learning bench measures against: the sessions of each person, and what readers found in them.

The gold is in `gold/` of the data folder, which says how it was made. A sentence is one of its lines where
both are of the same session and share four fifths of the words of the shorter one. What stands in no line was
read and found to be nothing, so proposing it is wrong too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from bench.learning_people import is_set_aside_half, person_id
from bench.measure import data_folder
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.domain.runs.transcript import ReadCounts, ToldRun, TranscriptSource
from runlore.domain.statements.user_messages import UserMessage, list_user_messages

_WORDS = re.compile(r"\w+")
_HOME = re.compile(r"/(?:Users|home)/([^/]+)")
_SHARED_MIN = 0.8
_LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
_WORDS_MIN = 2


@dataclass(frozen=True, kw_only=True)
class GoldLine:
    """One line of the gold for statements. `is_sure` is False where another reader might decide otherwise."""

    session: str
    words: frozenset[str]
    is_lasting: bool
    group: str
    kind: str
    scope: str
    is_sure: bool


@dataclass(frozen=True, kw_only=True)
class GoldProcedure:
    """One line of the gold for procedures."""

    name: str
    kind: str
    sessions: frozenset[str]
    steps: tuple[str, ...]
    error: str
    worth: int


@dataclass(kw_only=True)
class Person:
    """All sessions of somebody, and the gold for them. `stems` are the names of files by session."""

    id: str
    sources: list[TranscriptSource] = field(default_factory=list)
    said: list[UserMessage] = field(default_factory=list)
    stems: dict[str, str] = field(default_factory=dict)
    gold: list[GoldLine] = field(default_factory=list)
    procedures: list[GoldProcedure] = field(default_factory=list)

    @cached_property
    def groups(self) -> frozenset[str]:
        """What is worth keeping of what was said, each wish once."""
        return frozenset(line.group for line in self.gold if line.is_lasting)

    def line_of(self, session: str, text: str) -> GoldLine | None:
        """The line of the gold that a sentence of a session is; a lasting one before others."""
        words = frozenset(_WORDS.findall(text.lower()))
        found = [
            (line.is_lasting, len(line.words & words), line)
            for line in self._by_session.get(self.stems.get(session, ""), ())
            if _is_same(line.words, words)
        ]
        return max(found, key=lambda each: each[:2])[2] if found else None

    def half(self, *, is_set_aside: bool) -> "Person":
        """The person with those sessions alone that were looked at, or set aside later, and their gold."""
        stems = {stem_of(source) for source in self.sources}
        stems = {stem for stem in stems if is_set_aside_half(stem) is is_set_aside}
        return replace(
            self,
            sources=[source for source in self.sources if stem_of(source) in stems],
            procedures=[each for each in self.procedures if not each.sessions.isdisjoint(stems)],
        )

    @cached_property
    def _by_session(self) -> Mapping[str, Sequence[GoldLine]]:
        lines: dict[str, list[GoldLine]] = {}
        for line in self.gold:
            lines.setdefault(line.session, []).append(line)
        return lines


def people() -> list[Person]:
    """Everybody whose sessions are in the data folder, those with the most to find first."""
    data_folder("gold")
    found: dict[str, Person] = {}
    of_stem: dict[str, Person] = {}
    for folder, name in transcript_folders():
        for found_now in local_transcripts().find([str(folder)]):
            # The last run of a file that was written within the hour would be left out otherwise.
            source = replace(found_now, modified_at=_LONG_AGO, is_ended=True)
            stem = stem_of(source)
            runs = list(local_transcripts().read(source, ReadCounts()))
            owner = person_id(name or owner_of_runs(runs))
            person = found.setdefault(owner, Person(id=owner))
            person.sources.append(source)
            of_stem[stem] = person
            for run in runs:
                person.stems[run.session_id] = stem
                person.said += list_user_messages(
                    [event.entry for event in run.events],
                    session_id=run.session_id,
                    run_id=run.run_id,
                    first_number=run.first_number,
                )
    _add_gold(of_stem)
    return sorted(found.values(), key=lambda person: (-len(person.groups), person.id))


def stem_of(source: TranscriptSource) -> str:
    """What the gold calls a session: the name of its file."""
    return Path(source.path).name.partition(".")[0]


def transcript_folders() -> Iterator[tuple[Path, str]]:
    yield data_folder("transcripts", "claude-code"), ""
    yield data_folder("transcripts", "codex"), ""
    for folder in sorted(data_folder("transcripts", "people").iterdir()):
        if folder.is_dir():
            yield folder, folder.name


def owner_of_runs(runs: Sequence[ToldRun]) -> str:
    """Whose session it is: the home folder that it was worked in."""
    return next((found[1] for run in runs if (found := _HOME.match(run.folder))), "unknown")


def _add_gold(of_stem: Mapping[str, Person]) -> None:
    for name in ("statements.jsonl", "people-statements.jsonl"):
        for number, line in enumerate(gold_rows(data_folder("gold", name))):
            of_stem[str(line["session"])].gold.append(_statement(line, f"{name}:{number}"))
    for name in ("procedures.jsonl", "people-procedures.jsonl"):
        for line in gold_rows(data_folder("gold", name)):
            procedure = _procedure(line)
            owners = {of_stem[stem].id: of_stem[stem] for stem in procedure.sessions if stem in of_stem}
            for owner in owners.values():
                owner.procedures.append(procedure)


def _statement(line: Mapping[str, object], otherwise: str) -> GoldLine:
    return GoldLine(
        session=str(line["session"]),
        words=frozenset(_WORDS.findall(str(line["quote"]).lower())),
        is_lasting=line["durable"] is True,
        group=str(line["group"] or otherwise),
        kind=str(line["kind"] or ""),
        scope=str(line["scope"] or ""),
        is_sure=line.get("sure", True) is True and "doubtful" not in str(line["note"]),
    )


def _procedure(line: Mapping[str, object]) -> GoldProcedure:
    steps, sessions = line["steps"], line["sessions"]
    assert isinstance(steps, list)
    assert isinstance(sessions, list)
    worth = line["worth"]
    return GoldProcedure(
        name=str(line["id"]),
        kind=str(line["kind"]),
        sessions=frozenset(map(str, sessions)),
        steps=(*map(str, steps), str(line["works"] or "")),
        error=str(line["error"] or ""),
        worth=worth if isinstance(worth, int) else 0,
    )


def gold_rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    shorter = min(len(one), len(other))
    shared = len(one & other)
    return shared >= min(_WORDS_MIN, shorter) and shared > 0 and shared >= _SHARED_MIN * shorter
