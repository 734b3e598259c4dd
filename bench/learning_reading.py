"""What a model makes of people's sessions: the requests that go out, as files, and a score for the answers.

`python -m bench learning --requests DIR` writes DIR/PERSON/request-001.json and so on: what `learn --enhance`
would ask about that person's sessions. Somebody or some model answers each in answer-001.json beside it, with
nothing else in view. `python -m bench learning --answers DIR` checks the answers as Runlore does, and scores
what is kept by the same gold as everything else.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.learning_gold import GoldProcedure, Person
from bench.learning_procedures import ERROR_WORDS_MIN, FIX, command_keys, error_share
from bench.learning_statements import FIRST, KINDS, SCOPES, Result
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.domain.detectors.mining import mine_run, number_events
from runlore.domain.policies.learning_policy import ModelBudget
from runlore.domain.runs.transcript import ReadCounts, ToldRun
from runlore.domain.statements.finding import statements_of
from runlore.domain.statements.passages import MessageBatch, Passage, PassageCollector, batches_of
from runlore.domain.statements.reading import SCHEMA, ReadFindings, ReadProcedure, ReadStatement, check_answer
from runlore.models.prompt_files import CURRENT, chat_request
from runlore.ports.model import ModelPurpose


@dataclass(kw_only=True)
class Answered:
    """What is kept of all answers about a person; `stems` name the sessions that no request is left of."""

    statements: list[ReadStatement] = field(default_factory=list)
    procedures: list[ReadProcedure] = field(default_factory=list)
    thrown: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    unanswered: int = 0
    stems: set[str] = field(default_factory=set)


def batches_for(person: Person) -> list[MessageBatch]:
    """What would be asked about a person's sessions, in order."""
    sessions: dict[str, list[ToldRun]] = {}
    seen: set[str] = set()
    for source in person.sources:
        for run in local_transcripts().read(source, ReadCounts()):
            if run.run_id not in seen:
                seen.add(run.run_id)
                sessions.setdefault(run.session_id, []).append(run)
    told = sorted(sessions.values(), key=lambda runs: (_begun(runs[0]), runs[0].session_id))
    recurring = {
        (said.run_id, said.event_number): stated.sessions
        for stated in statements_of(person.said)
        for said in stated.said
    }
    passages = (
        tuple(
            replace(each, sessions=recurring.get((each.message.run_id, each.message.event_number), 0))
            for each in run
        )
        for runs in told
        for run in _passages(runs)
    )
    return list(batches_of(passages, tokens_max=ModelBudget().batch_tokens))


def _begun(run: ToldRun) -> str:
    return next((event.at.isoformat() for event in run.events if event.at), "")


def _passages(runs: Sequence[ToldRun]) -> Iterator[tuple[Passage, ...]]:
    first = runs[0]
    collector = PassageCollector(session_id=first.session_id, project=Path(first.folder).name, personal=True)
    for run in runs:
        mined = mine_run(
            number_events(run),
            session_id=run.session_id,
            run_id=run.run_id,
            agent=run.agent,
            project=run.folder,
        )
        told = enumerate(run.events, run.first_number)
        events = ((number, event.entry.type, event.entry.body) for number, event in told)
        yield collector.hear_run(run.run_id, events, mined.steps, day=_begun(run)[:10])


def write_requests(those: Sequence[Person], folder: Path) -> None:
    """Write the requests for these people, and say how many they are."""
    version = CURRENT[ModelPurpose.READING]
    for person in those:
        batches = batches_for(person)
        place = folder / person.id
        place.mkdir(parents=True, exist_ok=True)
        for number, batch in enumerate(batches, start=1):
            body = chat_request(version, batch.document, SCHEMA)
            text = json.dumps(body, ensure_ascii=False, indent=1)
            (place / f"request-{number:03}.json").write_text(text + "\n", encoding="utf-8")
        messages = sum(len(batch.passages) for batch in batches)
        print(f"{person.id}: {len(batches)} requests, {messages} messages, {place}")


def answers_for(person: Person, folder: Path) -> Answered:
    """What the answers about a person come to, checked as Runlore checks them."""
    found = Answered()
    left: set[str] = set()
    for number, batch in enumerate(batches_for(person), start=1):
        found.requests += 1
        path = folder / person.id / f"answer-{number:03}.json"
        stems = {person.stems.get(session, "") for session in batch.sessions}
        if not path.is_file():
            found.unanswered += 1
            left |= stems
            continue
        found.stems |= stems
        kept: ReadFindings = check_answer(batch, json.loads(path.read_text(encoding="utf-8")))
        found.statements += kept.statements
        found.procedures += kept.procedures
        found.thrown.update({why.value: count for why, count in kept.thrown.items()})
    found.statements.sort(key=lambda each: -each.confidence)
    found.stems -= left
    return found


def statements_result(person: Person, found: Answered) -> tuple[Result, list[str]]:
    """How the statements do on a person; and those that the gold does not know."""
    lines = [person.line_of(each.passage.message.session_id, each.quote) for each in found.statements]
    right = [line is not None and line.is_lasting for line in lines]
    sure = [line is None or line.is_sure for line in lines]
    hits = [
        (each, line)
        for each, line in zip(found.statements, lines, strict=True)
        if line is not None and line.is_lasting
    ]
    unknown = [
        f"read statement {person.id} {each.confidence} {each.text} | {each.quote}"
        for each, line in zip(found.statements, lines, strict=True)
        if line is None
    ]
    wishes = {line.group for line in person.gold if line.is_lasting and line.session in found.stems}
    result = Result(
        person=person.id,
        said=len(person.said),
        proposed=len(lines),
        right=sum(right),
        shown=sum(each.is_first for each in found.statements),
        shown_right=sum(ok for each, ok in zip(found.statements, right, strict=True) if each.is_first),
        first=len(lines[:FIRST]),
        first_right=sum(right[:FIRST]),
        sure_first=sum(sure[:FIRST]),
        sure_right=sum(a and b for a, b in zip(right[:FIRST], sure[:FIRST], strict=True)),
        groups=len(wishes),
        groups_found=len(wishes & {line.group for _, line in hits}),
        kinds_right=sum(each.kind is KINDS.get(line.kind) for each, line in hits),
        scopes_right=sum(each.scope is SCOPES.get(line.scope) for each, line in hits),
    )
    return result, unknown


def procedures_found(person: Person, found: Answered) -> tuple[int, dict[int, tuple[int, int]]]:
    """How many procedures of an answer are in the gold, and (found, all) by the least worth that counts."""
    names: set[str] = set()
    known = 0
    for each in found.procedures:
        stems = {person.stems.get(passage.message.session_id, "") for passage in each.passages}
        same = [
            (shared, gold.name)
            for gold in person.procedures
            if not gold.sessions.isdisjoint(stems) and (shared := _shared(each, gold))
        ]
        if same:
            known += 1
            names.add(max(same)[1])
    recalls = {
        worth: (len(those & names), len(those))
        for worth in (3, 2)
        for those in [
            {
                gold.name
                for gold in person.procedures
                if gold.worth >= worth and not gold.sessions.isdisjoint(found.stems)
            }
        ]
    }
    return known, recalls


def _shared(found: ReadProcedure, gold: GoldProcedure) -> int:
    """How many commands a procedure shares with one of the gold; 0 where that does not make it the same. Of
    both fixes one is enough, with four tenths of the words of the error."""
    own = command_keys(found.steps)
    shared = len(own & command_keys(gold.steps))
    if found.error and gold.kind == FIX:
        return shared if error_share(gold, found.error) >= ERROR_WORDS_MIN else 0
    return shared if shared >= min(2, len(own)) and 2 * shared >= len(own) else 0
