"""Inputs that Runlore works through itself: what is journalled, remembered, given and kept."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.background.jobs import do_due_jobs
from runlore.domain.agent.conversation import AssistantSaid, ToolCall, UserSaid
from runlore.domain.claims.support import Support
from runlore.domain.policies.learning_policy import LearningPolicy, PublicationPolicy, Witness
from runlore.domain.record import EvidenceRef, Kind, RecordId
from runlore.domain.run import MemoryState, RunStatus
from runlore.domain.runs.job import JobKind
from runlore.domain.runs.journal import EventType
from runlore.domain.scope import Scope, ScopeKind
from runlore.flow.pipeline.reviewing import evidence_sources
from runlore.flow.review.verification import support_for
from runlore.ports import operations as ops
from runlore.ports.chat import ChatListener, ChatReply, ChatTurn
from runlore.ports.model import TokenUsage
from runlore.ports.operations import RunEventKind
from runlore.ports.stopping import Stop
from tests.flow.agent_world import AtWork, at_work
from tests.flow.automation import CONTENT, captured
from tests.model_server import KEY, Received, Reply, calls, says
from tests.world import OPERATOR

pytestmark = pytest.mark.req("AGT-1", "AGT-5")

PROTOCOLS = ("openai", "anthropic")


@pytest.fixture
def folder(disk_path: Path) -> Path:
    """A working folder, on a disk."""
    return disk_path / "work"


def shell(command: str) -> Reply:
    """A call of the shell."""
    return calls("shell", {"command": command})


def steps(*commands: str, answer: str = "Done.") -> Callable[[Received], Reply]:
    """A model that runs one command after the other, then answers."""

    def next_step(received: Received) -> Reply:
        last = max(at for at, said in enumerate(received.conversation) if isinstance(said, UserSaid))
        done = sum(isinstance(said, AssistantSaid) for said in received.conversation[last:])
        return shell(commands[done]) if done < len(commands) else says(answer)

    return next_step


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_is_journalled_remembered_and_kept(settings: Settings, folder: Path, protocol: str) -> None:
    script = (says("I look.") + shell("echo 42 > answer.txt; cat answer.txt"), says("It is 42."))
    with at_work(settings, folder, *script, protocol=protocol) as work:
        view = work.ask("What is the answer?")

        run = view.run
        assert run.status is RunStatus.COMPLETED
        assert (run.agent, run.model, run.executor) == (
            "runlore",
            "test:scripted",
            work.world.parts.process_id,
        )
        assert work.told(run.run_id) == [
            "input",
            "assistant_message",
            "tool_call",
            "usage",
            "tool_result",
            "assistant_message",
            "usage",
            "completed",
        ]
        call, result = (work.journal(run.run_id)[at].body for at in (2, 4))
        assert call["call_id"] == result["call_id"]
        assert call["arguments"] == {"command": "echo 42 > answer.txt; cat answer.txt"}
        assert (result["exit_code"], result["is_error"]) == (0, False)
        assert (folder / "answer.txt").read_text() == "42\n"
        memory = work.world.memory(run.run_id)
        assert run.memory is MemoryState.STORED
        assert memory is not None
        assert "It is 42." in memory.summary
        assert work.artifact(run.run_id, "final_output") == "It is 42."


@pytest.mark.req("JRN-1")
def test_the_journal_has_everything_before_the_next_thing_happens(settings: Settings, folder: Path) -> None:
    """Whenever the model is asked, what came before is durable: another connection reads it."""
    seen: list[list[str]] = []
    works: list[AtWork] = []

    def looking(received: Received) -> Reply:
        run = works[0].operator.list_runs(ops.RunsRequest()).items[0].run
        seen.append(works[0].told(run.run_id))
        turn = sum(isinstance(said, AssistantSaid) for said in received.conversation)
        return shell(f"echo {turn}") if turn < 3 else says("Done.")

    with at_work(settings, folder, looking) as work:
        works.append(work)
        work.ask()

        turn = ["tool_call", "usage", "tool_result"]
        assert seen == [["input"], ["input", *turn], ["input", *turn, *turn], ["input", *turn, *turn, *turn]]


def test_a_call_is_journalled_before_it_is_made(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, shell("echo here"), says("Done.")) as work:
        run_id = work.start()
        kinds = [
            event.data["type"] if event.kind is RunEventKind.JOURNAL else event.kind.value
            for event in work.events(run_id)
        ]

        told = [kind for kind in kinds if kind in ("tool_call", "output", "tool_result")]
        assert told == ["tool_call", "output", "tool_result"]


@pytest.mark.req("AGT-6", "RUN-5", "PRJ-1")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_really_went_out_is_kept_with_memory_and_context_and_without_secrets(
    settings: Settings, folder: Path, protocol: str
) -> None:
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    script = (says("Noted."), shell("cat notes.txt"), says("Deployed."))
    with at_work(settings, folder, *script, protocol=protocol) as work:
        (folder / "notes.txt").write_text(f"the deploy token is {secret}\n")
        work.world.fact("Deployments go to the Frankfurt region")
        work.ask("Remember that we deploy on Fridays")
        run_id = work.ask("Deploy to the region").run.run_id

        sent = {
            name: json.loads(work.artifact(run_id, name))
            for name in ("request-first.json", "request-last.json")
        }
        for name, body in sent.items():
            text = json.dumps(body, ensure_ascii=False)
            for given in ("recovered_memory", "we deploy on Fridays", "learned_context", "Frankfurt region"):
                assert given in text, name
            assert secret not in text, name
            assert KEY not in text, name
        assert sent["request-first.json"] == work.server.requests[1].body
        assert "cat notes.txt" in json.dumps(sent["request-last.json"])
        assert "<redacted" in json.dumps(sent["request-last.json"])
        assert secret in json.dumps(work.server.requests[2].body), "the model itself was told it"
        assert not work.world.files_with(secret)
        assert secret not in str(work.world.tables())


def test_a_session_goes_on_where_it_was(settings: Settings, folder: Path) -> None:
    hello = (says("He", is_cut=True), says("l", is_cut=True), says("lo."))
    with at_work(settings, folder, *hello, says("Two."), says("Three.")) as work:
        first = work.ask("One?").run
        work.ask("Two?")
        work.ask("Three?")

        memory = work.world.memory(first.run_id)
        assert memory is not None
        assert memory.outcome_preview == "Hello."
        assert work.artifact(first.run_id, "final_output") == "Hello."
        assert work.server.requests[-1].conversation == (
            UserSaid(text="One?"),
            AssistantSaid(text="Hello."),
            UserSaid(text="Two?"),
            AssistantSaid(text="Two."),
            UserSaid(text="Three?"),
        )


@pytest.mark.req("LRN-12")
def test_what_is_forgotten_while_an_input_is_begun_is_not_told(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, says("A zanzibar."), says("Two."), says("Three.")) as work:
        first = work.ask("One zanzibar?").run
        work.ask("Two?")

        class Forgetful(Application):
            """Somebody forgets a run while what fits the input is looked for."""

            def match_skills(self, request: ops.MatchRequest) -> ops.FittingSkills:
                work.world.forget(RecordId(first.run_id))
                return Application(self.parts, self.caller).match_skills(request)

        begun = Application(replace(work.world.parts, bound=Forgetful), OPERATOR)
        begun.start_input(ops.NewInput(session_id=work.talk(), text="Three?", wait=True))

        assert work.server.requests[2].conversation == (
            UserSaid(text="Two?"),
            AssistantSaid(text="Two."),
            UserSaid(text="Three?"),
        )
        assert "zanzibar" not in json.dumps(work.server.requests[2].body)


@pytest.mark.parametrize(("model", "most"), [("test:scripted", 12), ("test:gpt-4", 2)])
def test_a_long_history_is_told_from_its_end(settings: Settings, folder: Path, model: str, most: int) -> None:
    """A model with a small window is told less of it."""
    with at_work(settings, folder, says("Well.")) as work:
        for number in range(12):
            run = work.world.run(f"Question {number}: " + "why " * 600, session_id=work.talk())
            work.world.say(run, "because " * 500)
            work.world.finish(run)
            work.world.clock.advance(seconds=1)
        work.ask("The last one?", model=model)

        told = work.server.requests[-1].conversation
        asked = [said.text[:12].strip() for said in told if isinstance(said, UserSaid)]
        assert asked[-2:] == ["Question 11:", "The last one"]
        assert 2 <= len(asked) <= most
        assert asked[:-1] == [f"Question {number}:" for number in range(13 - len(asked), 12)], asked
        assert len(told) % 2 == 1, "each question has its answer"


@pytest.mark.req("JRN-5")
def test_behind_a_checkpoint_its_words_stand_for_what_was_before(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, says("Yes.")) as work:
        work.ask("Something old")
        work.operator.add_checkpoint(ops.NewCheckpoint(session_id=work.talk(), text="We agreed on blue."))
        work.ask("Which colour?")

        told = work.server.requests[-1].conversation
        assert "We agreed on blue." in told[0].text if isinstance(told[0], UserSaid) else False
        assert not any("Something old" in str(said) for said in told)


@pytest.mark.req("SKL-1")
def test_what_a_run_shows_is_detected_at_once_unless_it_was_told_not_to(
    settings: Settings, folder: Path
) -> None:
    commands = ("make deps", "make migrate ENV=staging", "make test", "make build")
    with at_work(settings, folder, steps(*commands)) as work:
        (folder / "Makefile").write_text("deps migrate test build:\n\t@echo $@ is done\n")
        silent = work.start("Prepare the tree", learn=False)
        end = work.events(silent)[-1]
        assert end.kind is RunEventKind.END
        assert end.data["detected"] == []
        do_due_jobs(work.world.parts, kinds=frozenset({JobKind.DETECT}))
        assert work.operator.list_suggestions(ops.SuggestionsRequest()).items == ()

        # One session shows no procedure yet, a second one with the same steps does.
        alone = work.start("Prepare the tree", session_id=work.talk("first"))
        assert work.events(alone)[-1].data["detected"] == []
        run_id = work.start("Prepare the tree", session_id=work.talk("other"))
        end = work.events(run_id)[-1]
        limited = replace(OPERATOR, scopes=frozenset({Scope(ScopeKind.SESSION, "other")}))
        told = list(Application(work.world.parts, limited).follow_run(ops.FollowRun(run_id=run_id)))[-1]
        assert told.data["detected"] == [], "suggestions concern everything"

        detected = end.data["detected"]
        assert detected
        (kept,) = work.operator.list_suggestions(ops.SuggestionsRequest()).items
        assert detected == [
            {
                "suggestion_id": kept.suggestion_id,
                "name": kept.suggestion.name,
                "heuristic": "multi-step",
                "description": kept.suggestion.description,
                "became": "improving",
                "reason": "",
            }
        ]


@pytest.mark.req("SKL-10")
def test_skills_that_fit_are_named_in_the_instructions(settings: Settings, folder: Path) -> None:
    text = (
        "---\nname: release-notes\ndescription: Write release notes from merged changes\n---\n\n"
        "# Release notes\n\nList the merged changes.\n"
    )
    with at_work(settings, folder, calls("use_skill", {"name": "release-notes"}), says("Done.")) as work:
        work.operator.import_skill(ops.ImportSkill(text=text, source="a friend"))
        work.operator.accept_skill(ops.AcceptSkill(name="release-notes", force=True))
        run_id = work.ask("Write the release notes for the merged changes").run.run_id

        instructions = work.server.requests[0].instructions
        assert "- release-notes: Write release notes from merged changes" in instructions
        assert "List the merged changes" not in instructions
        assert "List the merged changes" in work.outputs(run_id)[0]


@pytest.mark.req("AGT-4")
def test_without_a_working_folder_there_is_nothing_that_touches_files(
    settings: Settings, folder: Path
) -> None:
    with at_work(settings, folder, calls("shell", {"command": "id"}), says("I cannot.")) as work:
        run_id = work.ask(session_id=work.talk("bare", working_folder=None)).run.run_id

        offered = set(work.server.requests[0].tools)
        assert offered == {
            "list_skills",
            "use_skill",
            "memory_search",
            "propose_learning",
            "scratch",
            "ask_user",
        }
        assert "there is no tool 'shell' here" in work.outputs(run_id)[0]


@pytest.mark.req("JRN-3")
def test_nothing_that_runlore_gave_is_learned_again(settings: Settings, folder: Path) -> None:
    echo = "<runlore:recovered_memory>\nRemembered.\n</runlore:recovered_memory>"
    with at_work(settings, folder, says(f"As you see: {echo}")) as work:
        run_id = work.ask(f"Look at {echo}").run.run_id

        assert "runlore:recovered_memory" not in str(work.journal(run_id))
        assert "runlore:recovered_memory" not in work.artifact(run_id, "final_output")
        assert "Remembered." not in str(work.server.requests[0].conversation)


def test_the_same_input_once_more_is_not_worked_again(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, says("Done.")) as work:
        request = ops.NewInput(session_id=work.talk(), text="Once", idempotency_key="k1", wait=True)
        first = work.operator.start_input(request).run
        again = work.operator.start_input(request).run

        assert first == again
        assert len(work.server.requests) == 1
        assert len(work.operator.list_runs(ops.RunsRequest()).items) == 1


@pytest.mark.req("TNT-1", "LRN-1")
def test_what_the_agent_proposes_is_an_agents_word_of_this_run(settings: Settings, folder: Path) -> None:
    proposal = {"kind": "preference", "content": "The user prefers tabs over spaces"}
    with at_work(settings, folder, calls("propose_learning", proposal), says("Proposed.")) as work:
        run_id = work.ask("I prefer tabs").run.run_id

        (waiting,) = work.operator.list_candidates(ops.CandidateRequest()).items
        assert waiting.kind is Kind.PREFERENCE
        assert (waiting.created_by, waiting.source.run_id) == ("runlore", run_id)
        assert not waiting.provenance.untrusted


class Shouting:
    """Models that call with more than a journal takes, then answer."""

    def __init__(self) -> None:
        self._turns = 0

    def resolve(self, model: str = "") -> str:
        """Any name will do."""
        return model or "test:shouting"

    def say(self, _turn: ChatTurn, listening: ChatListener, _stop: Stop) -> ChatReply:
        """A huge call, then a word."""
        self._turns += 1
        listening.on_request(json.dumps({"messages": ["word " * 1_800_000]}))
        huge = ToolCall(call_id="c1", name="scratch" * 40, arguments={"note": "y" * 5_000_000})
        is_first = self._turns == 1
        return ChatReply(
            text="" if is_first else "Done.",
            calls=(huge,) if is_first else (),
            model="test:shouting",
            usage=TokenUsage(),
        )

    def close(self) -> None:
        """Nothing is open."""


def test_what_is_too_large_for_a_journal_or_an_artifact_is_shortened_there(
    settings: Settings, folder: Path
) -> None:
    with at_work(settings, folder) as work:
        loud = Application(replace(work.world.parts, chat=Shouting()), OPERATOR)
        run = loud.start_input(ops.NewInput(session_id=work.talk(), text="Shout", wait=True)).run

        assert run.status is RunStatus.COMPLETED, run.error
        told = {event.type: event.body for event in work.journal(run.run_id)}
        assert told[EventType.TOOL_CALL]["arguments"] == {"note": "[left out: it is too large]"}
        assert told[EventType.TOOL_CALL]["call_id"] == told[EventType.TOOL_RESULT]["call_id"]
        kept = json.loads(work.artifact(run.run_id, "request-first.json"))
        assert kept["messages"][0].endswith("[8,900,000 characters left out]")


@pytest.mark.req("POL-9", "CAP-6")
def test_a_request_that_was_sent_is_no_witness_of_what_runlore_put_into_it(
    settings: Settings, folder: Path
) -> None:
    with at_work(settings, folder, shell("cat notes.txt"), says("Noted.")) as work:
        (folder / "notes.txt").write_text("Nothing of note.\n")
        work.world.fact(CONTENT)
        run = work.ask("The staging port is 8471. Look at the notes of the project").run
        assert CONTENT in work.artifact(run.run_id, "request-last.json")
        kept = {each.name: each.artifact_id for each in work.operator.list_artifacts(run.run_id).items}
        sent = EvidenceRef(run_id=run.run_id, artifact_id=kept["request-last.json"])

        for said, expected in ((CONTENT, Support.NONE), ("The staging port is 8471", Support.SUPPORTED)):
            candidate = captured(work.world, run, said, evidence_refs=(sent,))
            with work.world.parts.store.snapshot() as snapshot:
                trusting = PublicationPolicy(witnesses=tuple(Witness))
                policy = LearningPolicy(publication=trusting)
                sources = evidence_sources(work.world.parts.run_memories, policy)
                assert support_for(snapshot, sources, candidate) is expected
