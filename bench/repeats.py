"""What people told their agents more than once, found without a model, against what a reader found.

The sessions and the gold are other people's (see README.md); `group` of the gold marks what was said again.
How alike two sentences have to be was chosen on the people who are looked at. The four people set aside
(`learning_people.py`) are measured where the variable `RUNLORE_SET_ASIDE` is set.
"""

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from bench.learning import SET_ASIDE_VARIABLE
from bench.learning_gold import Person, people
from bench.learning_people import is_set_aside
from bench.measure import print_table
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.domain.run import RunId
from runlore.domain.runs.transcript import ReadCounts
from runlore.domain.worth.repeats import Repeat, find_repeats

TITLE = "what people said again, found without a model, by person"
_UNKNOWN = datetime(2000, 1, 1, tzinfo=UTC)


def main() -> None:
    everybody = people()
    told = [("looked at", [each for each in everybody if not is_set_aside(each.id)])]
    if os.environ.get(SET_ASIDE_VARIABLE):
        told.append(("set aside", [each for each in everybody if is_set_aside(each.id)]))
    for title, those in told:
        print(f"people {title}\n")
        counts = {person.id: count(person) for person in those}
        counts["all"] = tuple(map(sum, zip(*counts.values(), strict=True)))
        columns = ("person", "came back", "found", "listed", "lasting wishes")
        print_table(columns, [(name, *map(str, numbers)) for name, numbers in counts.items()])
        print()


def count(person: Person) -> tuple[int, ...]:
    """The wishes that came back, how many of them were found, what is listed, how much of it is lasting."""
    sessions: dict[str, set[str]] = {}
    for line in person.gold:
        if line.is_lasting:
            sessions.setdefault(line.group, set()).add(line.session)
    came_back = {group for group, where in sessions.items() if len(where) > 1}
    listed = find_repeats(person.said, opened_at(person)).items
    groups = [groups_of(person, item) for item in listed]
    found = came_back & {group for each in groups for group in each}
    return len(came_back), len(found), len(listed), sum(map(bool, groups))


def groups_of(person: Person, item: Repeat) -> Sequence[str]:
    """The lasting wishes of the gold that a repeat is of."""
    lines = (person.line_of(session, text) for session in item.session_ids for text in item.wordings)
    return sorted({line.group for line in lines if line is not None and line.is_lasting})


def opened_at(person: Person) -> dict[RunId, datetime]:
    found: dict[RunId, datetime] = {}
    for source in person.sources:
        for run in local_transcripts().read(source, ReadCounts()):
            found[run.run_id] = run.events[0].at or _UNKNOWN
    return found
