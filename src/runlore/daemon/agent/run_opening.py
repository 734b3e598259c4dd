"""Opening a run of Runlore's own agent: its context given as to any agent, its instructions, its history.

The instructions are the profile's words, where it works, the skills that fit, and what is remembered. The
history is what was asked in earlier inputs of the session and what came of it, the newest of it. Calls and
what they printed are left out: a call without its answer is no conversation to a provider, and the words of
both are in the answers where they mattered.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from runlore.agents.tools.skills import USE, fence_skill
from runlore.daemon.calls.access import keeps, own_session
from runlore.daemon.calls.idempotency import Call
from runlore.daemon.calls.lookups import askable
from runlore.daemon.own_runs.service import conversation, shorten_text
from runlore.daemon.parts import Parts
from runlore.daemon.runs.contexts import reached_scopes, require_request
from runlore.daemon.runs.run_opening import Founding, RunOpening, claim_nothing
from runlore.daemon.skill_access import session_capabilities
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.agent.agent_profile import AgentProfile
from runlore.domain.agent.conversation import AssistantSaid, Message, ToolAnswered, ToolSpec, UserSaid
from runlore.domain.capability import Capabilities
from runlore.domain.errors import Corrupt, RunloreError
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.prompts.projection import Section
from runlore.domain.prompts.token_budget import estimate, family_of
from runlore.domain.record import JsonValue
from runlore.domain.run import TERMINAL, MemoryState, Run, RunId, RunStatus
from runlore.domain.runs.journal import WORDS_OF, EventType, text_of
from runlore.domain.session import Session, SessionId
from runlore.domain.skill import Skill
from runlore.domain.text.safe_text import escape, make_storable
from runlore.flow.opted_out import LEARN
from runlore.ports import operations as ops
from runlore.ports.operations import FittingSkills
from runlore.ports.store import Collections

_CHECKPOINT = "What was said before, in short:\n"


@dataclass(frozen=True, kw_only=True)
class History:
    """A conversation so far, the oldest first, and the runs that it may tell of."""

    messages: tuple[Message, ...] = ()
    run_ids: tuple[RunId, ...] = ()

    def is_forgotten_by(self, collections: Collections) -> bool:
        runs = collections.runs.get_many(self.run_ids) if self.run_ids else {}
        return any(run.memory is MemoryState.FORGOTTEN for run in runs.values())


def history_of(
    collections: Collections, session: Session, *, tokens_max: int = limits.AGENT_HISTORY_TOKENS_MAX
) -> History:
    runs = collections.runs.page(
        limit=limits.AGENT_HISTORY_RUNS_MAX, session_id=session.session_id, statuses=TERMINAL
    )
    since = session.checkpoint_number or 0
    asked = [run for run in runs if run.input_number > since and run.memory is not MemoryState.FORGOTTEN]
    run_ids = [run.run_id for run in asked]
    texts = collections.journal.inputs(run_ids)
    newest_first = ((texts.get(run.run_id, ""), _outcome(collections, run)) for run in asked)
    messages = conversation(newest_first, tokens_max=tokens_max)
    return History(messages=(*_checkpoint(collections, session), *messages), run_ids=tuple(run_ids))


def _outcome(collections: Collections, run: Run) -> str:
    said = ""
    with suppress(Corrupt):
        said = collections.journal.latest_text(run.run_id).strip()
    ended = f"(This ended as {run.status}.)"
    if run.status is RunStatus.COMPLETED:
        return said or ended
    return f"{said}\n{ended}".strip()


def _checkpoint(collections: Collections, session: Session) -> tuple[Message, ...]:
    number = session.checkpoint_number
    if number is None:
        return ()
    with suppress(Corrupt):
        for event in collections.journal.range(session.session_id, number, number):
            text = text_of(event.body).strip()
            if event.type is EventType.CHECKPOINT and text:
                return (
                    UserSaid(text=_CHECKPOINT + shorten_text(text)),
                    AssistantSaid(text="I have read it."),
                )
    return ()


_OF_THE_WINDOW = 4
AGENT = "runlore"
"""The name of Runlore's own agent in runs, and of whoever its tools act as."""


@dataclass(frozen=True, kw_only=True)
class RunKind:
    """What kind of run to open: by which profile and model, told by which name, with what around the input.

    `tools` are those that it will have, for what they cost in the prompt. `words_of` says whose words the
    input is where it is not a person's. Without `remembers` it is given no memory, no history, no skills.
    """

    profile: AgentProfile
    model: str
    agent: str = AGENT
    tools: tuple[ToolSpec, ...] = ()
    words_of: str = ""
    remembers: bool = True
    folder: str = ""


@dataclass(frozen=True, kw_only=True)
class OpenedRun:
    """A run to be worked. One that was there already is not `is_new`, and must not be worked again.

    `history` is the conversation before the input, `text` the input as the model is told it.
    """

    view: ops.RunView
    session: Session
    sections: tuple[Section, ...]
    instructions: str
    history: tuple[Message, ...]
    text: str
    is_new: bool = True

    @property
    def run(self) -> Run:
        return self.view.run

    @property
    def stored(self) -> bool:
        return self.view.stored

    @property
    def messages(self) -> tuple[Message, ...]:
        return (*self.history, UserSaid(text=self.text))


@dataclass(frozen=True, kw_only=True)
class NewSessionRun:
    """A session that is begun with the run, and the call by which both are."""

    founding: Founding
    call: Call


def open_own_run(
    parts: Parts,
    caller: Caller,
    request: ops.NewInput,
    *,
    kind: RunKind,
    claim: Callable[[RunId], None] = claim_nothing,
    begun: NewSessionRun | None = None,
) -> OpenedRun:
    """Open a run that this process works, in the session that the request names, or in one that is begun with
    it. `claim` is called before one that is new is opened, and may refuse it."""
    require_request(request.text)
    session_id = SessionId(askable(request.session_id, "session"))
    with parts.store.snapshot() as snapshot:
        session = begun.founding.session if begun else own_session(snapshot, caller, session_id)
        history = _history(parts, snapshot, session, kind)
    opens_skills = kind.remembers and USE in kind.profile.tools
    skills = _skills(parts, own_caller(caller, session), request) if opens_skills else None
    bare = instructions_of(kind.profile, folder=kind.folder, skills=skills, sections=())
    asked = ops.NewRun(
        session_id=session_id,
        request=request.text,
        run_id=request.run_id,
        agent=kind.agent,
        model=kind.model,
        context=kind.remembers,
        prompt_tokens=prompt_tokens(bare, kind.tools, history.messages),
        metadata=_metadata(request, kind),
    )
    opening = RunOpening(
        parts=parts,
        caller=caller,
        executor=parts.process_id,
        claim=claim,
        founding=begun.founding if begun else None,
        skills=tuple(each.skill.skill_id for each in skills.items) if skills else (),
    )
    opened = opening.open(asked, begun.call if begun else call_of(request))
    if skills:
        offered = tuple(each for each in skills.items if each.skill.skill_id in opened.skills)
        skills = replace(skills, items=offered)
    history = _unforgotten(parts, history, opened.session, kind)
    sections = opened.view.sections or ()
    return OpenedRun(
        view=opened.view,
        session=opened.session,
        sections=sections,
        instructions=instructions_of(kind.profile, folder=kind.folder, skills=skills, sections=sections),
        history=history.messages,
        text=strip_injected(request.text),
        is_new=opened.is_new,
    )


def call_of(request: ops.NewInput) -> Call:
    """The call that an input is, with its key; whether its end is waited for makes it no other."""
    same = replace(request, wait=False)
    return Call(operation="start_input", request=same, key=request.idempotency_key)


def own_caller(caller: Caller, session: Session) -> Caller:
    """Who the tools of a run act as: an agent that reaches its session's scopes, and no more of them than
    whoever has started it."""
    return Caller(actor=AGENT, role=Role.AGENT, scopes=frozenset(reached_scopes(caller, session)))


def capabilities_of(parts: Parts, session: Session) -> Capabilities:
    """What a session and its persona leave to an agent now (SCO-4)."""
    with parts.store.snapshot() as snapshot:
        present = snapshot.sessions.find(session.session_id) or session
        return session_capabilities(snapshot, present.binding)


def _skills(parts: Parts, agent: Caller, request: ops.NewInput) -> ops.FittingSkills:
    query = make_storable(request.text.strip())[: limits.QUERY_CHARS_MAX]
    return parts.operations(agent).match_skills(
        ops.MatchRequest(query=query, session_id=SessionId(request.session_id))
    )


def _history(parts: Parts, collections: Collections, session: Session, kind: RunKind) -> History:
    """What was said before in a session, stored or not, as far as a model of this kind has room for it."""
    if not kind.remembers:
        return History()
    # How many tokens of history a model is told: no more than a part of its window, where that is known.
    family = family_of(kind.model, parts.families)
    known = limits.AGENT_HISTORY_TOKENS_MAX if family is None else family.window_tokens // _OF_THE_WINDOW
    room = min(known, limits.AGENT_HISTORY_TOKENS_MAX)
    if keeps(collections, session):
        return history_of(collections, session, tokens_max=room)
    return History(messages=parts.agent.unkept.of(session.session_id, tokens_max=room))


def _unforgotten(parts: Parts, history: History, session: Session, kind: RunKind) -> History:
    """The same, read again where something of it was forgotten before the run was opened. The run is there:
    where it cannot be found out, it is told nothing rather than not worked."""
    try:
        with parts.store.snapshot() as snapshot:
            if history.is_forgotten_by(snapshot):
                return _history(parts, snapshot, session, kind)
    except RunloreError:
        return History()
    return history


def _metadata(request: ops.NewInput, kind: RunKind) -> dict[str, JsonValue]:
    metadata: dict[str, JsonValue] = {}
    if kind.words_of:
        metadata[WORDS_OF] = kind.words_of
    if not request.learn:
        metadata[LEARN] = False
    return metadata


_SKILLS = (
    "These skills may fit the task: written procedures of this place. Open one with `use_skill` before you"
    " work by it; the person's words come first."
)


def instructions_of(
    profile: AgentProfile, *, folder: str, skills: FittingSkills | None, sections: Iterable[Section]
) -> str:
    parts = [
        profile.instructions,
        _place(folder),
        *_prompt_skills(skills),
        *(section.text for section in sections),
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def prompt_tokens(instructions: str, tools: Sequence[ToolSpec], history: Iterable[Message]) -> int:
    """What a prompt costs without the input and without what is remembered, about."""
    schemas = json.dumps(
        [[spec.name, spec.description, spec.parameters] for spec in tools], default=dict, ensure_ascii=False
    )
    return estimate(instructions) + estimate(schemas) + sum(estimate(_text(message)) for message in history)


def _place(folder: str) -> str:
    if not folder:
        return "There is no working folder: neither files nor commands can be used."
    return f"The working folder is {escape(folder)}; paths are told relative to it."


def _prompt_skills(skills: FittingSkills | None) -> list[str]:
    """Those that are always there with their words, the others by name: whoever opens one is counted."""
    if skills is None:
        return []
    always = [fence_skill(each.skill) for each in skills.items if each.match.auto_load]
    lazy = [_skill_line(each.skill) for each in skills.items if not each.match.auto_load]
    return [*always, *(["\n".join([_SKILLS, *lazy])] if lazy else [])]


def _skill_line(skill: Skill) -> str:
    return f"- {skill.name}: {escape(skill.told_description)}"


def _text(message: Message) -> str:
    if isinstance(message, ToolAnswered):
        return message.output
    calls = message.calls if isinstance(message, AssistantSaid) else ()
    return message.text + "".join(str(call.arguments) for call in calls)
