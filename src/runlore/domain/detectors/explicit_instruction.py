"""`explicit-instruction`: the user asks for a skill outright (SKL-2), in words of their own.

The session's commands up to there that worked are its context; without any, what was said becomes a learning
candidate. What the user asks to remember ("remember that ...") becomes one too, each sentence by itself. Of
several instructions in one message the last wins.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.detectors.instruction_words import SENTENCE_ENDS, Instruction, has_phrase, instructions_in
from runlore.domain.detectors.match import Heuristic, Match, make_occurrence
from runlore.domain.detectors.mined import MinedRun, Outcome, Step, UserRequest
from runlore.domain.learning.labels import Labelled
from runlore.domain.learning.own_words import cut_pasted
from runlore.domain.learning.remember_requests import find_remember_requests, kind_of, statements_in
from runlore.domain.record import Kind
from runlore.domain.text.excerpt import excerpt

CONTEXT_STEPS_MAX = 20
READ_CHARS_MAX = 8_000
STATEMENT_WORDS_MIN = 3

# Where a statement begins behind a phrase: "remember this: ...", "add a skill. ...".
_BEHIND = re.compile(r"(?: as (?:an? )?skill| for (?:later|next time))?\s*[:.,!\n–—-]\s*")


def explicit_instruction(session: Sequence[MinedRun]) -> Match | None:
    """The instruction that the last run begins with, with the commands of the session up to there."""
    last = session[-1] if session else None
    if last is None or last.request is None:
        return None
    asked = instruction_in(last.request)
    if asked is None and not find_remember_requests(_own(last.request)):
        return None
    steps = () if asked is None else _context(session, last.request, asked)
    name = "" if asked is None else asked.name
    occurrence = make_occurrence(last, steps)
    told = " ; ".join(step.form for step in steps)
    return Match(
        heuristic=Heuristic.EXPLICIT_INSTRUCTION,
        pattern=f"asked for {name} in {last.project}" if name else told or f"said in {last.run_id}",
        occurrences=(occurrence,),
        request=last.request,
        asked_name=name,
    )


def candidates_of(match: Match) -> tuple[Labelled, ...]:
    """What to keep of an instruction beside a skill: what the user asks to remember, each sentence by itself.

    Where no command shows a skill, it is else the statement behind the phrase, what was said before it, or
    the instruction with its name; none where it says nothing but the phrase.
    """
    if match.request is None:
        return ()
    own = _own(match.request)
    statements = find_remember_requests(own)
    if statements:
        return tuple(replace(each, text=excerpt(each.text, limits.SUMMARY_CHARS_MAX)) for each in statements)
    asked = instruction_in(match.request)
    if asked is None or any(found.steps for found in match.occurrences):
        return ()
    said = _said_around(own, asked)
    if own[asked.start : asked.end].lower().startswith("remember"):
        return tuple(_asked_to_keep(kind_of(each), each, is_asked=True) for each in statements_in(said))
    return (_asked_to_keep(Kind.PROCEDURE, " ".join(said.split())),) if said else ()


def _asked_to_keep(kind: Kind, text: str, *, is_asked: bool = False) -> Labelled:
    return Labelled(kind=kind, text=excerpt(text, limits.SUMMARY_CHARS_MAX), is_asked=is_asked)


def _said_around(own: str, asked: Instruction) -> str:
    """What was said behind an instruction, or before it; else all of it where it names what is meant."""
    behind = _BEHIND.match(own, asked.end)
    sentences = [own[: asked.start][: _last_end(own[: asked.start])]]
    if behind is not None:
        sentences.insert(0, own[behind.end() :])
    said = next((text for text in sentences if len(text.split()) >= STATEMENT_WORDS_MIN), "")
    return own if not said and (asked.name or asked.closes_task) else said


def _last_end(text: str) -> int:
    """Where the last whole sentence of a text ends; 0 where it has none."""
    return max((found.end() for found in SENTENCE_ENDS.finditer(text)), default=0)


def instruction_in(request: UserRequest) -> Instruction | None:
    """The last instruction to keep something in the user's own words."""
    if not has_phrase(request.own):
        return None
    return max(instructions_in(_own(request)), key=lambda found: found.start, default=None)


def _own(request: UserRequest) -> str:
    """What the user wrote before anything pasted, inline code with its text: a name may stand in it."""
    if len(request.own) != len(request.text):
        return request.own[:READ_CHARS_MAX]
    return cut_pasted(request.text)[:READ_CHARS_MAX]


def _context(session: Sequence[MinedRun], request: UserRequest, asked: Instruction) -> tuple[Step, ...]:
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
