"""Trajectories of SWE-agent and mini-swe-agent, in their older and newer keys."""

import json
from pathlib import Path

import pytest

from runlore.agents.transcripts.parsing import BROKEN, NO_OBJECT, UNKNOWN
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.runs.transcript import ReadCounts, ToldRun, TranscriptAgent
from tests.agents.transcripts.resuming import facts, in_two_goes
from tests.agents.transcripts.told_runs import arguments, called, outcomes
from tests.agents.transcripts.transcript_files import LONG_AGO, dated, found, inputs, local, read, shape

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SKL-3")]

TASK = "Solve this: the colon is missing"
HISTORY: list[dict[str, object]] = [
    {"role": "system", "content": "You are an engineer", "agent": "main"},
    {"role": "user", "content": "Here is a demonstration", "agent": "main", "is_demo": True},
    {"role": "user", "content": TASK, "agent": "main"},
]


def step(action: str, observation: str, **fields: object) -> dict[str, object]:
    state = json.dumps({"open_file": "n/a", "working_dir": "/repo"})
    about = {"action": action, "observation": observation, "thought": "I will", "state": state}
    return {**about, "response": f"I will\n```\n{action}\n```", **fields}


def old(*steps: object, status: str = "submitted") -> dict[str, object]:
    info = {"exit_status": status, "submission": "diff"}
    return {"environment": "swe_main", "trajectory": list(steps), "history": HISTORY, "info": info}


def put(path: Path, document: object) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return dated(path, LONG_AGO)


def run_of(
    tmp_path: Path, document: object, name: str = "a.traj", counts: ReadCounts | None = None
) -> ToldRun:
    [run] = read(put(tmp_path / name, document), counts)
    return run


def coded(run: ToldRun) -> list[tuple[object, object]]:
    return [(output, code) for output, code, _ in outcomes(run)]


def commands(run: ToldRun) -> list[tuple[object, object]]:
    return list(zip(called(run), arguments(run, "command"), strict=True))


def test_a_trajectory_is_one_run_of_steps(tmp_path: Path) -> None:
    counts = ReadCounts()
    run = run_of(tmp_path, old(step("python a.py\n", "SyntaxError"), step("submit\n", "diff")), counts=counts)
    assert shape(run) == [
        ("input", TASK),
        ("assistant_message", "I will"),
        ("tool_call", "bash"),
        ("tool_result", "SyntaxError"),
        ("assistant_message", "I will"),
        ("tool_call", "submit"),
        ("tool_result", "diff"),
    ]
    assert commands(run) == [("bash", "python a.py"), ("submit", "submit")]
    assert (run.agent, run.folder, run.status) == (TranscriptAgent.SWE_AGENT, "/repo", RunStatus.COMPLETED)
    assert (counts.lines, counts.skipped) == (2, {})
    for event in run.events[1:]:
        parse_entry({"type": event.entry.type.value, **event.entry.body})


def test_the_newer_keys_tell_the_same(tmp_path: Path) -> None:
    newer = {
        "trajectory": [
            step(
                "python a.py",
                "SyntaxError",
                execution_time=0.1,
                messages=[],
                state={"working_dir": "/repo", "open_file": "n/a"},
            )
        ],
        "history": [HISTORY[2] | {"message_type": "observation"}],
        "info": {"exit_status": "submitted (exit_context)"},
        "replay_config": {},
        "environment": "main",
    }
    run = run_of(tmp_path, newer)
    older = run_of(tmp_path, old(step("python a.py\n", "SyntaxError")), "b.traj")
    assert shape(run) == shape(older)
    assert (run.folder, run.status) == (older.folder, RunStatus.COMPLETED)


def test_a_history_alone_is_enough(tmp_path: Path) -> None:
    call = {"id": "x", "function": {"name": "bash", "arguments": '{"command": "ls"}'}, "type": "function"}
    prompt = "\n(Open file: n/a)\n(Current directory: /repo)\nbash-$"
    run = run_of(
        tmp_path,
        {
            "history": [
                *HISTORY,
                {
                    "role": "assistant",
                    "content": "Look",
                    "thought": "Look",
                    "action": "ls",
                    "tool_calls": [call],
                },
                {"role": "tool", "content": f"a.py{prompt}", "tool_call_ids": ["x"]},
                {"role": "assistant", "content": "Look again", "tool_calls": [call, call]},
                {"role": "tool", "content": "a.py"},
                {"role": "tool", "content": "b.py"},
                {"role": "assistant", "content": "Done"},
            ]
        },
    )
    assert commands(run) == [("bash", "ls")] * 3
    assert coded(run) == [("a.py", None), ("a.py", None), ("b.py", None)]
    assert shape(run)[-1] == ("assistant_message", "Done")


MINI = [
    {"role": "system", "content": "Answer with one block"},
    {"role": "user", "content": TASK},
    {"role": "assistant", "content": "THOUGHT: run it\n\n```mswea_bash_command\nmake\nmake test\n```"},
    {"role": "user", "content": "<returncode>2</returncode>\n<output>\n1 failed\n</output>"},
    {"role": "assistant", "content": "Two:\n```bash\na\n```\n```sh\nb\n```"},
    {"role": "user", "content": "Please always provide EXACTLY ONE action"},
    {"role": "assistant", "content": "```bash\necho done\n```", "extra": {"timestamp": 1770000000.5}},
]


def test_a_small_trajectory_tells_its_return_codes(tmp_path: Path) -> None:
    run = run_of(tmp_path, MINI, "a.traj.json")
    assert inputs([run]) == [TASK]
    assert commands(run) == [("bash", "make\nmake test"), ("bash", "echo done")]
    assert coded(run) == [("1 failed\n", 2)]


def test_a_small_trajectory_in_its_later_form_is_read_too(tmp_path: Path) -> None:
    document = {
        "info": {"exit_status": "LimitsExceeded", "config": {"model": {"model_name": "gpt-test"}}},
        "trajectory_format": "mini-swe-agent-1.1",
        "messages": [
            *MINI[:2],
            {
                "role": "assistant",
                "content": None,
                "extra": {"actions": [{"command": "make"}], "timestamp": 1.77e9},
            },
            {"role": "tool", "content": "no rule", "extra": {"returncode": 2}},
            {"role": "exit", "content": ""},
        ],
    }
    run = run_of(tmp_path, document, "last_run.json")
    assert (commands(run), coded(run)) == ([("bash", "make")], [("no rule", 2)])
    assert (run.model, run.status) == ("gpt-test", RunStatus.FAILED)
    assert run.events[1].at is not None


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ('{"trajectory": [', BROKEN),
        ('{"history": 7}', UNKNOWN),
        ('{"trajectory": [7]}', UNKNOWN),
        ("[7]", NO_OBJECT),
    ],
)
def test_what_is_not_understood_is_counted(tmp_path: Path, document: str, problem: str) -> None:
    counts = ReadCounts()
    runs = read(put(tmp_path / "a.traj.json", document), counts)
    assert all(len(run.events) == 1 for run in runs)
    assert sum(counts.skipped.values()) >= 1
    assert problem in (*counts.skipped, NO_OBJECT)


def test_the_id_is_of_the_run_and_not_of_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    first, other = step("ls", "a.py"), step("ls -a", "a.py")
    one = run_of(tmp_path, old(first))
    assert run_of(tmp_path / "x", old(first, other)).run_id == one.run_id
    assert run_of(tmp_path / "x", old(other)).run_id != one.run_id
    assert run_of(tmp_path, old(first), "b.traj").run_id != one.run_id


def test_other_documents_are_left_to_other_readers(tmp_path: Path) -> None:
    for name in ("a.json", "messages.json"):
        path = put(tmp_path / name, {"messages": MINI})
        assert [source.agent for source in local().find([str(path)])] == [None]
    assert found(put(tmp_path / "a.traj", old())).agent is TranscriptAgent.SWE_AGENT


@pytest.mark.parametrize("cut", range(4))
def test_a_trajectory_that_is_read_while_it_is_written_tells_the_same_in_the_end(
    tmp_path: Path, cut: int
) -> None:
    steps = [step(f"make {place}", "made") for place in range(3)]
    path = tmp_path / "a.traj"

    def write(is_whole: bool) -> None:
        put(path, old(*steps[: None if is_whole else cut]))

    twice, once = in_two_goes(path, TranscriptAgent.SWE_AGENT, put=write)
    assert facts(twice) == facts(once)
