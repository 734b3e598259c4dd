"""`explicit-instruction`: the user asks for a skill outright (SKL-2), in words of their own.

The session's commands up to there that worked are its context; without any, what was said becomes a learning
candidate. Of several instructions in one message the last wins.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runlore.domain import limits
from runlore.domain.detectors.instruction_words import SENTENCE_ENDS, Instruction, has_phrase, instructions_in
from runlore.domain.detectors.match import Heuristic, Match, seen_in
from runlore.domain.detectors.mined import MinedRun, Outcome, Request, Step
from runlore.domain.excerpt import excerpt
from runlore.domain.own_words import unpasted
from runlore.domain.record import Kind

CONTEXT_STEPS_MAX = 20
READ_CHARS_MAX = 8_000
STATEMENT_WORDS_MIN = 3

# Where a statement begins behind a phrase: "remember this: ...", "add a skill. ...".
_BEHIND = re.compile(r"(?: as (?:an? )?skill| for (?:later|next time))?\s*[:.,!\n–—-]\s*")


@dataclass(frozen=True, kw_only=True)
class AskedToKeep:
    """What the user wants to be kept where no command shows it: a statement, and what kind of one."""

    kind: Kind
    text: str


def explicit_instruction(session: Sequence[MinedRun]) -> Match | None:
    """The instruction that the last run begins with, with the commands of the session up to there."""
    last = session[-1] if session else None
    if last is None or last.request is None:
        return None
    asked = instruction_in(last.request)
    if asked is None:
        return None
    steps = _context(session, last.request, asked)
    occurrence = seen_in(last, steps)
    told = " ; ".join(step.form for step in steps)
    return Match(
        heuristic=Heuristic.EXPLICIT_INSTRUCTION,
        pattern=f"asked for {asked.name} in {last.project}"
        if asked.name
        else told or f"said in {last.run_id}",
        occurrences=(occurrence,),
        request=last.request,
        asked_name=asked.name,
    )


def candidate_of(match: Match) -> AskedToKeep | None:
    """What to keep of an instruction without any command; None where it says nothing but the phrase.

    It is the statement behind the phrase, else what was said before it, else the instruction with its name.
    """
    request = match.request
    asked = instruction_in(request) if request is not None else None
    if request is None or asked is None or any(found.steps for found in match.occurrences):
        return None
    own = _own(request)
    behind = _BEHIND.match(own, asked.end)
    sentences = [own[: asked.start][: _last_end(own[: asked.start])]]
    if behind is not None:
        sentences.insert(0, own[behind.end() :])
    said = next((text for text in sentences if len(text.split()) >= STATEMENT_WORDS_MIN), "")
    if not said and (asked.name or asked.closes_task):
        said = own
    if not said:
        return None
    kind = Kind.FACT if own[asked.start : asked.end].lower().startswith("remember") else Kind.PROCEDURE
    return AskedToKeep(kind=kind, text=excerpt(" ".join(said.split()), limits.SUMMARY_CHARS_MAX))


def _last_end(text: str) -> int:
    """Where the last whole sentence of a text ends; 0 where it has none."""
    return max((found.end() for found in SENTENCE_ENDS.finditer(text)), default=0)


def instruction_in(request: Request) -> Instruction | None:
    """The last instruction to keep something in the user's own words."""
    if not has_phrase(request.own):
        return None
    return max(instructions_in(_own(request)), key=lambda found: found.start, default=None)


def _own(request: Request) -> str:
    """What the user wrote before anything pasted, inline code with its text: a name may stand in it."""
    if len(request.own) != len(request.text):
        return request.own[:READ_CHARS_MAX]
    return unpasted(request.text)[:READ_CHARS_MAX]


def _context(session: Sequence[MinedRun], request: Request, asked: Instruction) -> tuple[Step, ...]:
    """The latest commands before the instruction that worked, each once.

    Where the instruction closes a task ("set it up and save this as ..."), they are those of the task.
    """
    before = _latest(step for run in session for step in run.steps if step.number < request.number)
    if before or not asked.closes_task:
        return before
    return _latest(session[-1].steps)


def _latest(steps: Iterable[Step]) -> tuple[Step, ...]:
    worked = [step for step in steps if step.outcome is Outcome.SUCCEEDED and not step.is_looking]
    by_text = {step.text: step for step in worked}
    return tuple(sorted(by_text.values(), key=lambda step: step.number))[-CONTEXT_STEPS_MAX:]
