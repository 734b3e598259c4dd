"""Learning from sessions: what is found of what people would keep, and how much of what is found is right.

The sessions and the gold are other people's (see README.md). Statements and procedures are measured apart,
and by person. Four people are set aside whole (`learning_people.py`); they are measured only where the
variable `RUNLORE_SET_ASIDE` is set, once, when nothing is changed any more. What is proposed and stands in no
line of the gold is written to a file for reading, never for those who are set aside.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.learning_blind import write_blind
from bench.learning_gold import Person, people
from bench.learning_people import is_set_aside
from bench.learning_procedures import ProcedureResult, suggested_for
from bench.learning_reading import answers_for, procedures_found, statements_result, write_requests
from bench.learning_statements import FAMILIES, STORED, Result, fitted, judge, result_of, without
from bench.measure import print_table
from runlore.domain.statements.finding import Judged

TITLE = "statements and procedures that people would keep, found and right, by person"
SET_ASIDE_VARIABLE = "RUNLORE_SET_ASIDE"
# Set by `--requests` and `--answers`: `learning_reading.py` says what they do.
REQUESTS_VARIABLE, ANSWERS_VARIABLE = "RUNLORE_REQUESTS", "RUNLORE_ANSWERS"
# Set by `--blind`: `learning_blind.py` says what it does.
BLIND_VARIABLE = "RUNLORE_BLIND"


def main() -> None:
    """Measure everybody who is not set aside; those too where it is asked for."""
    everybody = people()
    fit = [person for person in everybody if not is_set_aside(person.id)]
    aside = [person for person in everybody if is_set_aside(person.id)]
    requests, answers = os.environ.get(REQUESTS_VARIABLE), os.environ.get(ANSWERS_VARIABLE)
    if requests or answers:
        for title, those in (("looked at", fit), ("set aside", aside)):
            if those is fit or os.environ.get(SET_ASIDE_VARIABLE):
                if requests:
                    write_requests(those, Path(requests))
                if answers:
                    _answers(title, those, Path(answers))
        return
    if blind := os.environ.get(BLIND_VARIABLE):
        write_blind([*fit, *aside] if os.environ.get(SET_ASIDE_VARIABLE) else fit, Path(blind))
        return
    judged = {person.id: judge(person) for person in fit}
    unknown = _statements(fit, judged) + _procedures("procedures, people that are looked at", fit)
    for title, is_aside in (("looked at", False), ("set aside", True)):
        halves = [person.half(is_set_aside=is_aside) for person in fit]
        _procedures(f"procedures, the half of these people's sessions that was {title}", halves)
    _ablations(fit, judged)
    path = Path(tempfile.gettempdir(), "runlore-learning-unknown.txt")
    path.write_text("\n".join(unknown) + "\n", encoding="utf-8")
    path.chmod(0o600)
    print(f"{len(unknown)} proposals that the gold does not know: {path}\n")
    if os.environ.get(SET_ASIDE_VARIABLE):
        _table("statements, people set aside, stored weights", _results(aside, STORED))
        _procedures("procedures, people set aside", aside)
    else:
        print(f"{len(aside)} people are set aside; {SET_ASIDE_VARIABLE}=1 measures them")


def _answers(title: str, those: Sequence[Person], folder: Path) -> None:
    """Score the answers of a model about these people; those without any are left out."""
    results, unknown, rows = [], [], []
    thrown: Counter[str] = Counter()
    for person in those:
        found = answers_for(person, folder)
        if found.unanswered == found.requests:
            continue
        result, unread = statements_result(person, found)
        known, recalls = procedures_found(person, found)
        results.append(result)
        unknown += [] if is_set_aside(person.id) else unread
        thrown.update(found.thrown)
        told = (f"{recalls[worth][0]} of {recalls[worth][1]}" for worth in (3, 2))
        answered = f"{found.requests - found.unanswered} of {found.requests}"
        rows.append((person.id, answered, len(found.procedures), known, *told))
    _table(f"statements, read by a model, people {title}", results)
    print_table(("person", "answered", "procedures", "in the gold", "found of worth 3", "of 2 and 3"), rows)
    print(f"\nthrown out: {dict(thrown)}")
    for line in unknown:
        print(line)


def _statements(fit: Sequence[Person], judged: Mapping[str, Sequence[Judged]]) -> list[str]:
    others = {
        person.id: fitted([(one, judged[one.id]) for one in fit if one is not person]) for person in fit
    }
    one_out = [result_of(person, judged[person.id], others[person.id])[0] for person in fit]
    _table("statements, weights fitted on the others (leave one person out)", one_out)
    stored, unknown = [], []
    for person in fit:
        result, unread = result_of(person, judged[person.id], STORED)
        stored.append(result)
        unknown += [f"statement {person.id} {each.confidence.points} {each.text}" for each in unread]
    _table("statements, stored weights (these people were looked at)", stored)
    return unknown


def _results(those: Iterable[Person], weights: Mapping[str, int]) -> list[Result]:
    return [result_of(person, judge(person), weights)[0] for person in those]


def _table(title: str, results: Sequence[Result]) -> None:
    print(f"{title}\n")
    told = [result for result in results if result.groups or result.proposed]
    rows = [
        (
            each.person,
            each.said,
            each.proposed,
            each.right,
            f"{each.shown_right} of {each.shown}",
            each.first,
            each.first_right,
            f"{each.sure_right} of {each.sure_first}",
            each.groups,
            each.groups_found,
            f"{each.kinds_right}, {each.scopes_right}",
        )
        for each in told
    ]
    columns = ("person", "said", "proposed", "right", "not folded", "first 20", "right", "sure only")
    print_table((*columns, "wishes", "found", "kind, scope right"), [*rows, _total(told)])
    print(f"\n{_shares(told)}\n")


def _total(results: Sequence[Result]) -> tuple[object, ...]:
    total = {
        name: sum(getattr(each, name) for each in results)
        for name in Result.__dataclass_fields__
        if name != "person"
    }
    return (
        "all",
        total["said"],
        total["proposed"],
        total["right"],
        f"{total['shown_right']} of {total['shown']}",
        total["first"],
        total["first_right"],
        f"{total['sure_right']} of {total['sure_first']}",
        total["groups"],
        total["groups_found"],
        f"{total['kinds_right']}, {total['scopes_right']}",
    )


def _shares(results: Sequence[Result]) -> str:
    right = _percent(sum(each.right for each in results), sum(each.proposed for each in results))
    first = _percent(sum(each.first_right for each in results), sum(each.first for each in results))
    found = _percent(sum(each.groups_found for each in results), sum(each.groups for each in results))
    return f"right of all {right}, of the first 20 of each person {first}; wishes found {found}"


def _ablations(fit: Sequence[Person], judged: Mapping[str, Sequence[Judged]]) -> None:
    rows = []
    for name, weights in [
        ("all features", STORED),
        *((f"without {each}", without(each)) for each in FAMILIES),
    ]:
        results = [result_of(person, judged[person.id], weights)[0] for person in fit]
        rows.append(
            (
                name,
                sum(each.proposed for each in results),
                sum(each.right for each in results),
                sum(each.first for each in results),
                sum(each.first_right for each in results),
                sum(each.groups_found for each in results),
            )
        )
    print_table(("stored weights", "proposed", "right", "first 20", "right", "wishes found"), rows)
    print()


def _procedures(title: str, those: Sequence[Person]) -> list[str]:
    results: list[ProcedureResult] = []
    unknown: list[str] = []
    for person in those:
        result, unread = suggested_for(person)
        results.append(result)
        unknown += [f"procedure {person.id} {each.name}: {' ; '.join(each.commands)}" for each in unread]
    told = [each for each in results if each.suggested or each.recalls[2][1]]
    rows = [(each.person, each.suggested, each.known, *_recalls([each])) for each in told]
    total = ("all", sum(each.suggested for each in told), sum(each.known for each in told), *_recalls(told))
    print(f"{title}\n")
    print_table(
        ("person", "suggested", "in the gold", "found of worth 3", "of worth 2 and 3"), [*rows, total]
    )
    print()
    return unknown


def _recalls(results: Sequence[ProcedureResult]) -> tuple[str, str]:
    sums = {
        worth: tuple(sum(each.recalls[worth][place] for each in results) for place in (0, 1))
        for worth in (3, 2)
    }
    return f"{sums[3][0]} of {sums[3][1]}", f"{sums[2][0]} of {sums[2][1]}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
