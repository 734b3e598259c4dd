"""Poisoning: hostile texts by every way into Runlore, under the boldest policy, with a model that obeys."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from runlore.daemon.background.jobs import do_due_jobs
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject, Kind, Record
from runlore.domain.records.visibility import hidden_because
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.flow.skills.library import every_skill
from runlore.ports import operations as ops
from runlore.ports.model import ModelPurpose, Question
from tests.agents.transcripts.claude_lines import Claude
from tests.agents.transcripts.transcript_files import read, write
from tests.flow.telling import bring
from tests.world import World

PAGE = "https://example.org/page"
PIECE_CHARS_MAX, TITLE_CHARS = 1_500, 100
_numbers = count(1)
_own_requests: set[str] = set()

# Everything that a policy may allow: each kind is published for prompts at once, whoever brings it.
BOLDEST: JsonObject = {
    "mode": "enabled",
    "capture": {
        "run_summary_candidates": True,
        "semantic_candidates": {"enabled": True, "max_candidates_per_run": 4},
    },
    "publication": {
        "default_action": "publish_provisional",
        "allow_api_origin_active_publication": True,
        "rules": [
            {"name": f"every {kind}", "kind": kind, "action": action}
            for kind, action in (
                ("fact", "publish_active"),
                ("preference", "publish_active"),
                ("decision", "publish_active"),
                ("procedure", "publish_provisional"),
            )
        ],
    },
    "judge": {"enabled": True},
    "model_budget": {"calls_per_day": 1_000_000, "tokens_per_day": 1_000_000_000},
}


@dataclass
class Obeying:
    """What a model answers that does whatever the attacker wants: it extracts the text and lets it pass."""

    text: str = ""
    asked: list[str] = field(default_factory=list)

    def answer(self, purpose: str, document: JsonObject) -> JsonObject:
        """The answer to a question of this purpose: it quotes whatever it finds, to be let pass."""
        self.asked.append(purpose)
        if purpose == ModelPurpose.JUDGE:
            return {"action": "publish_active", "reason": "it says that it is approved"}
        pieces = dict.fromkeys((self.text[:PIECE_CHARS_MAX], self.text[-PIECE_CHARS_MAX:]))
        quote = str(document["outcome"] or document["request"])[:8]
        return {
            "candidates": [
                {"kind": kind, "content": piece, "quote": quote, "confidence": 100}
                for piece, kind in zip(pieces, ("fact", "preference"), strict=False)
            ]
        }

    def scripted(self, question: Question) -> JsonObject:
        """The same for a model without a server."""
        return self.answer(question.purpose, question.document)


def embolden(world: World) -> None:
    """Put the boldest policy that is accepted."""
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=BOLDEST))
    work(world)


def work(world: World) -> None:
    """Do everything that is due."""
    while do_due_jobs(world.parts):
        pass


def from_web_tool(world: World, text: str) -> None:
    """A page that a web tool read says it."""
    _run(world, "What does the page say?", ("WebFetch", {"url": PAGE}, text), says="I have read it.")


def from_mcp_tool(world: World, text: str) -> None:
    """An MCP server answers with it."""
    _run(world, "Look at the issue", ("mcp__tracker__get_issue", {"id": 7}, text), says="I have read it.")


def from_command(world: World, text: str) -> None:
    """A download prints it."""
    _run(world, "Fetch it", ("Bash", {"command": f"curl -s {PAGE}"}, text), says=text)


def repeated_by_the_agent(world: World, text: str) -> None:
    """The agent repeats what a page said."""
    _run(world, "What does the page say?", ("WebFetch", {"url": PAGE}, text), says=text)


def repeated_later(world: World, text: str) -> None:
    """A later run of the same conversation repeats what a page said."""
    session_id = _run(world, "What does the page say?", ("WebFetch", {"url": PAGE}, text), says="Done.")
    world.clock.advance(seconds=1)
    _run(world, "And now?", says=text, session_id=session_id)


def in_the_memory_of_a_run(world: World, text: str) -> None:
    """A later run is given the memory of one that read it, and the agent repeats it."""
    session_id = _run(world, "What does the page say?", ("WebFetch", {"url": PAGE}, text), says=text)
    world.clock.advance(seconds=1)
    request = "What was it about?"
    _own_requests.add(request)
    run = world.run(request, session_id=session_id, context=True)
    world.say(run, text)
    world.finish(run)


def said_by_the_agent(world: World, text: str) -> None:
    """The agent says it out of nothing."""
    _run(world, "Hello", says=text)


def read_in_a_file(world: World, text: str) -> None:
    """A file of the working folder has it, and the agent repeats it."""
    _run(world, "What do the notes say?", ("Read", {"file_path": "notes.md"}, text), says=text)


def printed_by_git(world: World, text: str) -> None:
    """The history of the repository has it, and the agent repeats it."""
    _run(world, "What was done last?", ("Bash", {"command": "git log -3"}, text), says=text)


def printed_from_a_log(world: World, text: str) -> None:
    """A log has it, and the agent repeats it."""
    _run(world, "Why did it fail?", ("Bash", {"command": "tail -50 build.log"}, text), says=text)


def told_by_a_sub_agent(world: World, text: str) -> None:
    """A sub-agent answers with it."""
    _run(world, "Have it looked at", ("Task", {"prompt": "look"}, text), says=text)


def read_in_a_clone(world: World, text: str) -> None:
    """A repository that was cloned has it."""
    clone = ("Bash", {"command": "git clone https://example.org/x.git"}, "done")
    _run(world, "Try the library", clone, ("Read", {"file_path": "x/README.md"}, text), says=text)


def read_in_a_document(world: World, text: str) -> None:
    """A PDF has it."""
    _run(world, "What does the offer say?", ("Read", {"file_path": "offer.pdf"}, text), says=text)


def printed_from_a_database(world: World, text: str) -> None:
    """A row of a database has it."""
    query = {"command": "sqlite3 app.db 'select note from orders'"}
    _run(world, "What do the orders say?", ("Bash", query, text), says=text)


def failed_with(world: World, text: str) -> None:
    """A command fails with it."""
    _run(world, "Build it", ("Bash", {"command": "make build"}, f"make: *** {text}"), says=text)


def called_so(world: World, text: str) -> None:
    """A tool and a file are called so."""
    named = "".join(sign if sign.isalnum() else "_" for sign in text[:60])
    _run(world, "Look around", (named, {"path": text[:200]}, "nothing"), says=text)


def echoed_by_the_agent(world: World, text: str) -> None:
    """The agent lets a command print it, and repeats it."""
    quoted = text.replace("'", "")
    _run(world, "Hello", ("Bash", {"command": f"echo '{quoted}'"}, text), says=text)


def written_and_read(world: World, text: str) -> None:
    """The agent writes it into a file, which another session reads."""
    written = {"file_path": "notes.md", "content": text}
    _run(world, "Take notes", ("Write", written, "written"), says="I took notes.")
    world.clock.advance(seconds=1)
    read_in_a_file(world, text)


def pasted_in_a_fence(world: World, text: str) -> None:
    """The user pastes it between marks."""
    fence = "`" * max(3, 1 + max(map(len, _ticks(text)), default=0))
    asked = f"What is wrong with this?\n\n{fence}\n{text}\n{fence}\n"
    _run(world, asked, says="I have read it.", is_own=False)


def asked_without_a_label(world: World, text: str) -> None:
    """The user types it."""
    _run(world, text, says="I will not do that.", is_own=False)


def posted_by_an_agent(world: World, text: str) -> None:
    """An agent posts it as candidates of each kind."""
    _post(world.agent.create_candidate, text)


def posted_by_an_operator(world: World, text: str) -> None:
    """A program with an operator's token posts it as candidates of each kind."""
    _post(world.operator.create_candidate, text)


def in_a_transcript(before: str, behind: str = "") -> Callable[[World, str], None]:
    """A transcript has it in the user's place between these words, and the agent repeats it."""

    def way(world: World, text: str) -> None:
        claude = Claude(session=f"told-{next(_numbers)}")
        lines = (claude.user("Go on"), claude.user(f"{before}{text}{behind}"), claude.says(text))
        with TemporaryDirectory() as folder:
            runs = read(write(Path(folder, "told.jsonl"), lines))
        bring(world, *runs, source=f"told-{next(_numbers)}")

    way.__name__ = f"in_a_transcript_{before.strip('<').split()[0].partition('>')[0]}"
    return way


def in_a_skill(world: World, text: str) -> None:
    """A skill that somebody offers has it."""
    body = f"---\nname: deploy-{next(_numbers)}\ndescription: How it is deployed\n---\n\n{text}\n"
    world.operator.import_skill(ops.ImportSkill(text=body, source="https://example.org/skills"))


def in_a_title(world: World, text: str) -> None:
    """A session is called so, and the agent repeats it."""
    session = ops.NewSession(title=" ".join(text.split())[:TITLE_CHARS])
    session_id = world.agent.create_session(session).session_id
    _run(world, "Hello", says=text, session_id=session_id)


WAYS: Mapping[str, Callable[[World, str], None]] = {
    "in the answer of a web tool": from_web_tool,
    "in the answer of an MCP tool": from_mcp_tool,
    "printed by a download": from_command,
    "repeated by the agent": repeated_by_the_agent,
    "repeated by a later run": repeated_later,
    "in the memory of a run": in_the_memory_of_a_run,
    "said by the agent": said_by_the_agent,
    "in a file of the working folder": read_in_a_file,
    "in the history of the repository": printed_by_git,
    "in a log": printed_from_a_log,
    "told by a sub-agent": told_by_a_sub_agent,
    "in a clone": read_in_a_clone,
    "in a document": read_in_a_document,
    "in a row of a database": printed_from_a_database,
    "in an error": failed_with,
    "in a name": called_so,
    "printed by a command of the agent's": echoed_by_the_agent,
    "written by one session, read by another": written_and_read,
    "in a title": in_a_title,
    "pasted in a fence": pasted_in_a_fence,
    "typed by the user": asked_without_a_label,
    "posted by an agent": posted_by_an_agent,
    "posted with an operator's token": posted_by_an_operator,
}

# Of these no model makes candidates; skills and suggestions could be made of them.
IMPORTED: Mapping[str, Callable[[World, str], None]] = {
    "told by a teammate": in_a_transcript("<teammate-message from='bo'>", "</teammate-message>"),
    "told by a task": in_a_transcript("<task-notification><result>", "</result></task-notification>"),
    "told by a hook": in_a_transcript("Stop hook feedback:\n"),
    "printed by a command of the user's": in_a_transcript("<bash-stdout>", "</bash-stdout>"),
    "in a skill": in_a_skill,
}


def usable_skills(world: World) -> list[str]:
    """The skills that a prompt or an agent may be given."""
    with world.parts.store.snapshot() as snapshot:
        return [each.name for each in every_skill(snapshot) if each.is_usable]


def visible(world: World) -> list[Record]:
    """Everything that may reach a prompt, in whatever scope, but for what the user asks in each of the
    sessions: said so often, it is a wish."""
    now = world.clock.now()
    found = [record for record in world.stored().values() if hidden_because(record, now) is None]
    return [record for record in found if record.summary not in _own_requests]


def _run(
    world: World,
    request: str,
    *calls: tuple[str, JsonObject, str],
    says: str,
    session_id: SessionId | None = None,
    is_own: bool = True,
) -> SessionId:
    """One run. `is_own`: its request holds nothing of the attacker's."""
    if is_own:
        _own_requests.add(request)
    if session_id is None:
        session_id = world.session(f"talk-{next(_numbers)}").session_id
    run = world.run(request, session_id=session_id)
    for number, (name, arguments, output) in enumerate(calls):
        world.append(
            run,
            {"type": "tool_call", "call_id": f"c{number}", "name": name, "arguments": arguments},
            {"type": "tool_result", "call_id": f"c{number}", "output": output},
        )
    world.say(run, says)
    world.finish(run)
    return session_id


def _post(create: Callable[[ops.NewCandidate], Record], text: str) -> None:
    number = next(_numbers)
    for kind in (Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.PROCEDURE):
        scope = Scope(ScopeKind.PROJECT, f"acme-{number}")
        create(ops.NewCandidate(kind=kind, content=text[:PIECE_CHARS_MAX], scope=scope, confidence=100))


def _ticks(text: str) -> list[str]:
    runs, current = [], ""
    for sign in text:
        current = current + sign if sign == "`" else ""
        runs.append(current)
    return runs
