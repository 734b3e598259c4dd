"""What several sessions show, found the slow way: every row of whole steps is written out and compared."""

from collections.abc import Sequence

from runlore.domain.detectors.mined import MinedRun, Outcome, Step

Gram = tuple[str, ...]
EVERYDAY = ("git add", "git commit", "git push")


def shown_procedures(sessions: Sequence[Sequence[MinedRun]]) -> dict[str, set[str]]:
    """The procedures that stand for themselves, as patterns, with the sessions that show them."""
    support: dict[Gram, set[str]] = {}
    for runs in sessions:
        for row in rows([step for run in runs for step in run.steps]):
            for gram in grams(row):
                support.setdefault(gram, set()).add(runs[0].session_id)
    enough = {gram: shown for gram, shown in support.items() if len(shown) >= needed(gram)}
    standing = {
        gram: shown
        for gram, shown in enough.items()
        if len(shown.difference(*(told for other, told in enough.items() if is_part(gram, other))))
        >= needed(gram)
    }
    return {
        " ; ".join(gram): shown
        for gram, shown in standing.items()
        if not any(is_better(other, gram, standing) for other in standing)
    }


def is_better(other: Gram, gram: Gram, shown: dict[Gram, set[str]]) -> bool:
    """Whether a sequence does the same in an order that stands for both."""
    if sorted(other) != sorted(gram) or other == gram:
        return False
    return (-len(shown[other]), other) < (-len(shown[gram]), gram)


def rows(steps: Sequence[Step]) -> list[list[tuple[str, ...]]]:
    """Rows of steps, each step as the forms of its commands."""
    found: list[list[tuple[str, ...]]] = [[]]
    for step in steps:
        forms = [command.form for command in step.commands if not command.is_looking]
        if not forms or step.outcome in (Outcome.REFUSED, Outcome.UNKNOWN):
            continue
        if step.outcome is Outcome.FAILED:
            found.append([])
            continue
        told = tuple(
            form
            for form, following in zip(forms, [*forms[1:], ""], strict=True)
            if act(form) != act(following)
        )
        row = found[-1]
        if row and act(row[-1][-1]) in ("git commit", "git push") and not told[0].startswith("git "):
            found.append([told])
        elif row and [act(form) for form in row[-1]] == [act(form) for form in told]:
            row[-1] = told
        else:
            row.append(told)
    return found


def grams(row: Sequence[tuple[str, ...]]) -> set[Gram]:
    """Every sequence of whole steps of a row that has 2 to 12 commands and does nothing twice."""
    found = set()
    for start in range(len(row)):
        for end in range(start + 1, len(row) + 1):
            forms = tuple(form for step in row[start:end] for form in step)
            if 2 <= len(forms) <= 12 and len({act(form) for form in forms}) == len(forms):
                found.add(forms)
    return found


def needed(gram: Gram) -> int:
    """How many sessions have to show a sequence."""
    telling = sum(act(form) not in EVERYDAY for form in gram)
    if len(gram) >= 4:
        return 2 if telling >= 2 else 3 if telling else 10**9
    return 3 if telling >= 2 else 10**9


def is_part(gram: Gram, other: Gram) -> bool:
    """Whether one sequence stands in another that is longer."""
    return len(gram) < len(other) and any(
        other[start : start + len(gram)] == gram for start in range(len(other) - len(gram) + 1)
    )


def act(form: str) -> str:
    """What a form does, without its flags."""
    return " ".join(word for word in form.split() if not word.startswith("-"))
