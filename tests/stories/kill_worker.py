"""A process that works through the public operations until somebody kills it.

    python -m tests.stories.kill_worker

reads a line of JSON with a state root, a database and a seed, forks a worker for it, and waits for its end;
then the next. Forking spares each worker the start of an interpreter; it opens its own files and
connections. A worker tells on a line what it begins, and on another what it was answered.
"""

import hashlib
import json
import os
import random
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from functools import partial

import orjson

import runlore.recall
import runlore.storage.postgres.store
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.wiring import open_parts
from runlore.domain.access import LOCAL_OPERATOR
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.record import Kind, Layer, Record, RecordId, State
from runlore.domain.records.publication import MERGES
from runlore.domain.records.radar import Finding
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.serialization.codec import serialize
from runlore.ports import operations as ops

# Loaded before the first fork, so that no worker has to.
LOADED = (runlore.recall, runlore.storage.postgres.store)
KEYS = ("editor", "shell", "pager", "theme")
OPERATIONS_MAX = 400
TOKEN = re.compile(r"\btok[a-z]+\b")
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]


class Worker:
    """Does one random thing after the other."""

    def __init__(self, operations: Application, seed: int, tell: Callable[[dict[str, object]], None]) -> None:
        self._operations = operations
        self._random = random.Random(seed)
        self._seed = seed
        self._tell = tell
        self._number = 0

    def run(self) -> None:
        """Work; whoever started it ends it."""
        acts = (
            self.propose,
            self.propose,
            self.confirm,
            self.confirm,
            self.roll_back,
            self.take_findings,
            self.compact,
            self.confirm_a_merge,
            self.roll_back_a_merge,
            self.add_an_episode,
            self.forget,
        )
        for _ in range(OPERATIONS_MAX):
            self._random.choice(acts)()
            if self._random.random() < 0.05:
                self._operations.search(ops.SearchRequest(query="canary editor"))

    def propose(self) -> None:
        key, scope = self._random.choice(KEYS), self._scope()
        proposal = ops.ProfileProposal(key=key, value=self._token(), reason=self._reason(), scope=scope)
        self._act("propose", lambda: [self._operations.propose_profile(proposal)])

    def confirm(self) -> None:
        if waiting := self._some(State.CONSTRAINED, Layer.PROFILE):
            replaced = [waiting.supersedes] if waiting.supersedes else []
            wanted = self._decision(waiting)
            self._act("confirm", partial(self._confirmed, wanted), waiting.record_id, *replaced)

    def roll_back(self) -> None:
        if active := self._some(State.ACTIVE, Layer.PROFILE):
            self._roll_back(active, [active.supersedes] if active.supersedes else [])

    def take_findings(self) -> None:
        token, scope = self._token(), self._scope()
        tag = token.replace("tok", "service-")
        findings = tuple(
            Finding(
                summary=f"The {tag} uses canary releases {how}, says {token}{how[-1]}",
                repo_slug="acme/tools",
                source_handle="acme",
                source_url="https://example.org/acme",
                topic_tags=(tag, "canary"),
            )
            for how in ("at night", "on Mondays")  # their last letters make two words of the one
        )
        request = ops.Findings(findings=findings, scope=scope)
        made = self._act("findings", lambda: self._operations.radar_add(request))
        for finding in made[1:]:
            self._act("confirm", partial(self._confirmed, self._decision(finding)), finding.record_id)

    def compact(self) -> None:
        request = ops.MergeRequest(create_proposals=True, scopes=frozenset({self._scope()}))
        self._act("compact", lambda: self._proposals(request))

    def confirm_a_merge(self) -> None:
        if merge := self._some(State.CONSTRAINED, Layer.SEMANTIC, only_merges=True):
            wanted = self._decision(merge)
            sources = merge.source.record_ids
            self._act("confirm", partial(self._confirmed, wanted), merge.record_id, *sources)

    def roll_back_a_merge(self) -> None:
        if merge := self._some(State.ACTIVE, Layer.SEMANTIC, only_merges=True):
            self._roll_back(merge, merge.source.record_ids)

    def add_an_episode(self) -> None:
        episode = ops.Episode(kind=Kind.EXPERIMENT, summary=f"Trial {self._token()} went well")
        self._act("episode", lambda: [self._operations.add_episode(episode)])

    def forget(self) -> None:
        record = self._some(self._random.choice(list(State)), self._random.choice(list(Layer)))
        if record is None:
            return
        wanted = self._decision(record)
        would = self._operations.forget(wanted, dry_run=True).records
        # What was merged holds the words of others, which may stay.
        own = [each.summary for each in would if each.proposal not in MERGES]
        tokens = [token for summary in own for token in TOKEN.findall(summary)]
        moves = [each.record_id for each in would]
        self._act("forget", lambda: self._operations.forget(wanted).records, *moves, tokens=tokens)

    def _roll_back(self, record: Record, replaced: Iterable[RecordId]) -> None:
        wanted = self._decision(record, restore_sources=True)
        answers = [self._operations.get_record(each) for each in replaced]
        coming = [each.record_id for each in answers if each.superseded_by == record.record_id]
        self._act("rollback", lambda: self._rolled_back(wanted), record.record_id, *coming)

    def _confirmed(self, wanted: ops.Decision) -> list[Record]:
        return [self._operations.confirm(wanted)]

    def _rolled_back(self, wanted: ops.Decision) -> list[Record]:
        answer = self._operations.rollback(wanted)
        return [answer.record, *answer.restored]

    def _proposals(self, request: ops.MergeRequest) -> list[Record]:
        items = self._operations.compact(request)
        return [item.proposal for item in items if item.proposal and item.status == "proposed"]

    def _act(
        self,
        name: str,
        do: Callable[[], Iterable[Record]],
        *moves: RecordId,
        tokens: Iterable[str] = (),
    ) -> tuple[Record, ...]:
        """Tell that it begins (what it moves it moves together), do it, and tell the answer."""
        number = self._number
        reason = self._reason()
        self._number += 1
        self._tell({"begin": number, "act": name, "reason": reason, "moves": moves, "tokens": list(tokens)})
        try:
            records = tuple(do())
        except Unavailable:
            raise
        except RunloreError as error:
            self._tell({"refused": number, "code": error.code})
            return ()
        self._tell({"done": number, "records": [[r.record_id, r.revision, digest(r)] for r in records]})
        return records

    def _some(self, state: State, layer: Layer, *, only_merges: bool = False) -> Record | None:
        filters = ops.Filters(states=frozenset({state}), layers=frozenset({layer}))
        found = self._operations.list_records(ops.ListRequest(filters=filters, limit=40)).items
        chosen = [record for record in found if (record.proposal in MERGES) or not only_merges]
        return self._random.choice(chosen) if chosen else None

    def _decision(self, record: Record, *, restore_sources: bool = False) -> ops.Decision:
        return ops.Decision(
            record_id=record.record_id, reason=self._reason(), restore_sources=restore_sources
        )

    def _reason(self) -> str:
        """What the events of the next act say, and of no other act."""
        return f"act {self._seed}.{self._number}"

    def _scope(self) -> Scope:
        return Scope(ScopeKind.PROJECT, self._random.choice(("acme", "globex", "initech")))

    def _token(self) -> str:
        """A word that stands in one record and in what is made from it."""
        number, word = self._seed * 1_000 + self._number, "tok"
        while number:
            number, rest = divmod(number, len(SYLLABLES))
            word += SYLLABLES[rest]
        return word


def digest(record: Record) -> str:
    """What a record says, in short."""
    return hashlib.sha256(orjson.dumps(serialize(record))).hexdigest()[:16]


def main() -> None:
    """Fork a worker for each line, one at a time."""
    for line in sys.stdin:
        wanted = json.loads(line)
        process = os.fork()
        if process == 0:
            _work(wanted)
        _tell({"process": process})
        _, status = os.waitpid(process, 0)
        _tell({"ended": status})


def _work(wanted: dict[str, object]) -> None:
    """The forked process: it opens everything itself, and never returns."""
    status = 1
    try:
        url = wanted["database_url"]
        settings = Settings(state_root=str(wanted["state_root"]), database_url=str(url) if url else None)
        operations = Application(open_parts(settings), LOCAL_OPERATOR)
        Worker(operations, int(str(wanted["seed"])), _tell).run()
        operations.parts.close()
        status = 0
    except Unavailable as error:
        _tell({"unavailable": error.code})
    except BaseException:
        # A forked child has no caller: what went wrong is printed, and its exit code tells the story of it.
        traceback.print_exc()
    finally:
        os._exit(status)


def _tell(line: dict[str, object]) -> None:
    # One write of less than a pipe's page: a line is there as a whole or not at all.
    os.write(1, json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    main()
