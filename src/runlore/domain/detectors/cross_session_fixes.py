"""Fixes: a command fails, and the same called differently works. What is compared is how the two differ."""

import re
from collections.abc import Iterator

from runlore.domain.detectors.cross_session_rows import act_of, forms_of
from runlore.domain.detectors.mined import MinedRun, Outcome, Step
from runlore.domain.detectors.recovery_texts import is_about_code
from runlore.domain.lazy import dataclass

STEPS_BETWEEN_MAX = 2
# How a program says that it was called in the wrong way, and not that what it looked at is wrong.
_MISUSED = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|invalid|illegal|unexpected|unsupported|undefined|bad|missing|required|ambiguous)\b"
    r".{0,40}\b(?:option|flag|argument|command|subcommand|parameter|switch|value|task)|\busage:|\bnot found\b"
    r"|\bno such (?:option|command|file|task|target)|\bno module named\b|\bflag provided but not defined\b"
    r"|\bpermission denied\b|\bmust (?:be|specify|provide)\b|\bdid you mean\b|\bis not a\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fixed:
    """A step that failed, and the one that did the same differently and worked."""

    failed: Step
    worked: Step


def fixes_of(run: MinedRun) -> Iterator[Fixed]:
    """The failures of a run that were put right at once: by the same program, called differently."""
    counting = [step for step in run.steps if not step.is_looking and step.outcome is not Outcome.REFUSED]
    for place, failed in enumerate(counting):
        if failed.outcome is not Outcome.FAILED:
            continue
        for worked in counting[place + 1 : place + 2 + STEPS_BETWEEN_MAX]:
            if worked.outcome is Outcome.SUCCEEDED and _puts_right(failed, worked):
                yield Fixed(failed=failed, worked=worked)
                break
            if worked.outcome is Outcome.FAILED and worked.form == failed.form:
                # The same failed again: what comes behind is told of that one.
                break


def _puts_right(failed: Step, worked: Step) -> bool:
    """Whether what worked is the failed command, called differently. What merely leaves a part of it out, or
    asks for more to be printed, changes nothing: then it was something else that was put right."""
    before, after = forms_of(failed), forms_of(worked)
    if not before or not any(_is_kind_of(before[-1], form) for form in after):
        return False
    if before == after:
        told = difference(Fixed(failed=failed, worked=worked))
        return bool(told.gone and told.come)
    if is_about_code(failed.error) and not _is_run_by(before, after):
        return False
    if {act_of(form) for form in after} <= {part for form in before for part in _parts(form)}:
        return _MISUSED.search(failed.error) is not None
    return True


def _is_run_by(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether the same is run by another program in front of it, such as `mise exec --`, and no more."""
    if len(before) != 1 or len(after) != 1:
        return False
    one, other = act_of(before[0]).split(), act_of(after[0]).split()
    return len(other) > len(one) and other[-len(one) :] == one


def _is_kind_of(before: str, after: str) -> bool:
    """Whether a form does what another does: with other flags, through another program that runs it, by
    another program of the same words, or as a variant of it (`build` and `build:prod`)."""
    one, other = act_of(before).replace("-", " ").split(), act_of(after).replace("-", " ").split()
    short, long = sorted((one, other), key=len)
    if not short:
        # No program at all, as where a flag stands in the place of one.
        return False
    if short == long[-len(short) :] or (len(short) > 1 and short == long[: len(short)]):
        return True
    if len(one) > 1 and one[1:] == other[1:]:
        return True
    is_variant = one[-1].startswith(other[-1]) or other[-1].startswith(one[-1])
    return len(one) > 1 and one[:-1] == other[:-1] and is_variant


def _parts(form: str) -> list[str]:
    """What a form does, and what it would do with less said: `npm run test:unit` is an `npm run test`."""
    act = act_of(form)
    return [act, *(act[: found.start()] for found in re.finditer(r"[:\s-]", act))]


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """What two steps differ in: their forms, and where those are the same, the words that went and came."""

    failed: str
    worked: str
    gone: tuple[str, ...] = ()
    come: tuple[str, ...] = ()


def difference(fixed: Fixed) -> Difference:
    """What made it work: the same for two fixes that are the same."""
    before, after = fixed.failed.form, fixed.worked.form
    if before != after:
        return Difference(failed=before, worked=after)
    old, new = _words(fixed.failed), _words(fixed.worked)
    return Difference(
        failed=before,
        worked=after,
        gone=tuple(word for word in old if word not in set(new)),
        come=tuple(word for word in new if word not in set(old)),
    )


def _words(step: Step) -> list[str]:
    return [word for command in step.commands if not command.is_looking for word in command.text.split()]
