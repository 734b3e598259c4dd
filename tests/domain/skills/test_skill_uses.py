"""Which skills a run opened: every agent's own way of it, and nothing that only looks like it."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.runs.transcript import ToldEvent, ToldRun, TranscriptAgent
from runlore.domain.skills import skill_uses
from runlore.domain.skills.skill_uses import (
    NAMES_MAX,
    OPENING_TOOLS,
    PRINTING_PROGRAMS,
    READING_TOOLS,
    SKILL_FOLDERS,
    SkillOpening,
    find_opened_in_transcript,
    find_opened_skills,
    skill_of_path,
)
from runlore.domain.suggesting.naming import is_valid_name
from runlore.domain.taint_sources.tools import outside_of_tool, runs_commands

pytestmark = pytest.mark.req("SKL-11")

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
FILE = "/srv/ann/app/.claude/skills/deploy-app/SKILL.md"
WELL: JsonObject = {"output": "Launching skill", "is_error": False}


class Event(NamedTuple):
    """One event of a run."""

    number: int
    at: datetime
    type: EventType
    body: JsonObject


def events(*bodies: tuple[EventType, JsonObject]) -> list[Event]:
    """Events from number 5 on, a minute apart."""
    return [
        Event(place + 5, AT + timedelta(minutes=place), kind, body)
        for place, (kind, body) in enumerate(bodies)
    ]


def call(name: str, arguments: JsonValue, call_id: str = "c1") -> tuple[EventType, JsonObject]:
    """A tool call."""
    return EventType.TOOL_CALL, {"call_id": call_id, "name": name, "arguments": arguments}


def result(body: JsonObject, call_id: str = "c1") -> tuple[EventType, JsonObject]:
    """What it answered."""
    return EventType.TOOL_RESULT, {"call_id": call_id, **body}


def asked(text: str, **metadata: str) -> tuple[EventType, JsonObject]:
    """What the user asked for."""
    return EventType.INPUT, {"text": text, "metadata": metadata} if metadata else {"text": text}


def names(name: str, arguments: JsonValue, answer: JsonObject = WELL) -> list[str]:
    """The skills that a single call opened."""
    return [each.name for each in find_opened_skills(events(call(name, arguments), result(answer)))]


def requested(text: str, **metadata: str) -> list[str]:
    """The skills that a request opened."""
    return [each.name for each in find_opened_skills(events(asked(text, **metadata)))]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Skill", {"skill": "deploy-app"}),
        ("Skill", {"skill": "deploy-app", "args": "to staging"}),
        ("Skill", {"command": "deploy-app"}),
        ("Skill", {"skill": "tools:deploy-app"}),
        ("Skill", {"skill": "/deploy-app now"}),
        ("activate_skill", {"name": "deploy-app"}),
        ("skill", {"name": "deploy-app"}),
        ("use_skill", {"skill_name": "deploy-app"}),
        ("use_skill", {"SkillName": "deploy-app"}),
        ("load_skill", "deploy-app"),
        ("load_skill", '{"name": "deploy-app"}'),
        ("openskills", {"name": "deploy-app"}),
        ("mcp__runlore__use_skill", {"name": "deploy-app"}),
        ("runlore_use_skill", {"name": "deploy-app"}),
        ("batch", {"tool_calls": [{"tool": "skill", "parameters": {"name": "deploy-app"}}]}),
        ("batch", {"tool_calls": [{"tool": "read", "filePath": FILE}]}),
        ("Read", {"file_path": FILE, "limit": 200}),
        ("read_file", {"absolute_path": FILE}),
        ("read", {"filePath": "~/.agents/skills/deploy-app/SKILL.md"}),
        ("read_many_files", {"paths": ["README.md", ".gemini/skills/deploy-app/SKILL.md"]}),
        ("read_files", {"files": [{"path": ".opencode/skill/deploy-app/SKILL.md"}]}),
        ("view_file", {"AbsolutePath": f"file://{FILE}"}),
        ("read_file", {"path": "C:\\Users\\ann\\.claude\\skills\\deploy-app\\SKILL.md"}),
        ("mcp__filesystem__read_text_file", {"path": FILE}),
        ("str_replace_based_edit_tool", {"command": "view", "path": FILE}),
        ("shell", {"command": ["bash", "-lc", "cat ~/.codex/skills/deploy-app/SKILL.md"]}),
        ("exec_command", {"cmd": "sed -n '1,220p' .agents/skills/deploy-app/SKILL.md"}),
        ("shell_command", {"command": "cat deploy-app/SKILL.md", "workdir": "/srv/ann/.codex/skills"}),
        ("Bash", {"command": "cd .claude/skills/deploy-app && ls && cat SKILL.md"}),
        ("Bash", {"command": "cd .claude/skills/other && cat ../deploy-app/SKILL.md"}),
        ("Bash", {"command": "git status; head -60 $HOME/.runlore/skills/deploy-app/SKILL.md | less"}),
        ("bash", {"command": "cat < ~/.config/opencode/skills/deploy-app/SKILL.md"}),
        ("run_shell_command", {"command": "openskills read deploy-app"}),
        ("Bash", {"command": "npx openskills@1.3 read deploy-app"}),
        ("exec_command", {"cmd": "sed -n 1,9p ~/.codex/plugins/cache/tools/1.2/skills/deploy-app/SKILL.md"}),
        ("Read", {"file_path": "/srv/ann/.claude/plugins/tools/skills/deploy-app/SKILL.md"}),
        ("powershell", {"command": "Get-Content .claude/skills/deploy-app/SKILL.md"}),
        ("exec", 'const r = await tools.exec_command({cmd: "cat .agents/skills/deploy-app/SKILL.md"});'),
    ],
)
def test_each_agent_opens_a_skill_in_its_own_way(tool: str, arguments: JsonValue) -> None:
    assert names(tool, arguments) == ["deploy-app"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Skill", {"skill": "../deploy-app"}),
        ("Skill", {"skill": "Deploy App"}),
        ("Skill", {"skill": ["deploy-app"]}),
        ("Skill", {"args": "deploy-app"}),
        ("Skill", {}),
        ("Skill", ["deploy-app"]),
        ("Skill", "{deploy-app"),
        ("Skill", {"skill": ""}),
        ("Skill", {"skill": "a" * 65}),
        ("list_skills", {"name": "deploy-app"}),
        ("Task", {"name": "deploy-app"}),
        ("mcp__elsewhere__use_skill", {"name": "deploy-app"}),
        ("Write", {"file_path": FILE, "content": "# Deploy"}),
        ("Edit", {"file_path": FILE}),
        ("str_replace_based_edit_tool", {"command": "create", "path": FILE}),
        ("Read", {"file_path": "/srv/ann/app/docs/deploy-app/SKILL.md"}),
        ("Read", {"file_path": "/srv/ann/app/.claude/skills/deploy-app/reference.md"}),
        ("Read", {"file_path": "/srv/ann/app/.claude/skills/SKILL.md"}),
        ("Read", {"file_path": "/srv/ann/app/.claude/skills/deploy-app/../SKILL.md"}),
        ("Read", {"file_path": "/srv/ann/.codex/skills/.system/deploy-app/SKILL.md"}),
        ("Read", {"file_path": "/x/.claude/skills/Deploy App/SKILL.md"}),
        ("Read", {"file_path": "/x/.claude/plugins/tools/deploy-app/SKILL.md"}),
        ("Read", {"file_path": "/x/app/plugins/tools/skills/deploy-app/SKILL.md"}),
        ("Read", {"pattern": FILE}),
        ("Grep", {"pattern": "deploy", "path": FILE}),
        ("Bash", {"command": "cat > .claude/skills/deploy-app/SKILL.md <<'EOF'\n# Deploy\nEOF"}),
        ("Bash", {"command": "cat .claude/skills/deploy-app/SKILL.md > copy.md"}),
        ("Bash", {"command": "sed -i s/a/b/ .claude/skills/deploy-app/SKILL.md"}),
        ("Bash", {"command": "cat deploy-app/SKILL.md"}),
        ("Bash", {"command": "cat .claude/skills/*/SKILL.md"}),
        ("Bash", {"command": "ls .claude/skills/deploy-app/SKILL.md"}),
        ("Bash", {"command": "git add .claude/skills/deploy-app/SKILL.md"}),
        ("Bash", {"command": "echo cat .claude/skills/deploy-app/SKILL.md"}),
        ("Bash", {"description": "cat .claude/skills/deploy-app/SKILL.md", "command": "ls"}),
        ("Bash", {"command": "openskills list deploy-app"}),
        ("Bash", {"command": "npm install openskills deploy-app"}),
        ("batch", {"tool_calls": [{"tool": "batch", "parameters": {"tool_calls": []}}, 7, {"tool": 3}]}),
        ("batch", {"tool_calls": "skill deploy-app"}),
    ],
)
def test_what_only_names_a_skill_opens_none(tool: str, arguments: JsonValue) -> None:
    assert names(tool, arguments) == []


@pytest.mark.parametrize(
    "answer",
    [
        {"output": "Skill not found", "is_error": True},
        {"output": "cat: SKILL.md: No such file or directory", "exit_code": 1},
        {"output": "", "exit_code": 1},
        {"output": "# Deploy", "exit_code": 2, "is_error": False},
        {"output": "The user doesn't want to proceed with this tool use."},
        {"output": "Error: skill deploy-app not found"},
        {"output": "", "exit_code": 130},
    ],
)
def test_a_call_that_failed_or_was_refused_opened_nothing(answer: JsonObject) -> None:
    assert names("Skill", {"skill": "deploy-app"}, answer) == []
    assert names("Bash", {"command": f"cat {FILE}"}, answer) == []


@pytest.mark.parametrize(
    "answer",
    [
        WELL,
        {"output": "# Deploy\nError: where it says so, run it again\nFAILED tests are fine", "exit_code": 0},
        {"output": "# Deploy\nError: where it says so, run it again", "is_error": False},
        {"output": "# Deploy\nError: where it says so, run it again"},
        {"output": [{"type": "text", "text": "# Deploy\nTraceback (most recent call last)"}]},
        {"output": ""},
    ],
)
def test_what_a_skill_says_about_errors_is_no_error(answer: JsonObject) -> None:
    assert names("Skill", {"skill": "deploy-app"}, answer) == ["deploy-app"]


def test_a_call_without_an_answer_opened_nothing() -> None:
    skill = call("Skill", {"skill": "deploy-app"})
    assert find_opened_skills(events(skill)) == ()
    assert find_opened_skills(events(skill, result(WELL, "c2"))) == ()
    assert find_opened_skills(events(result(WELL), skill)) == ()


def test_the_answer_of_a_later_call_of_the_same_id_is_not_that_of_an_earlier() -> None:
    told = events(call("Skill", {"skill": "one"}), call("Bash", {"command": "ls"}), result(WELL))
    assert find_opened_skills(told) == ()
    told = events(call("Skill", {"skill": "one"}), call("Skill", {"skill": "two"}), result(WELL))
    assert [each.name for each in find_opened_skills(told)] == ["two"]


def test_each_skill_is_told_once_at_the_first_call_that_went_well() -> None:
    told = events(
        call("Skill", {"skill": "one"}, "a"),
        result({"output": "no", "is_error": True}, "a"),
        call("Skill", {"skill": "two"}, "b"),
        call("Skill", {"skill": "one"}, "c"),
        result(WELL, "c"),
        result(WELL, "b"),
        call("Bash", {"command": "cat .claude/skills/one/SKILL.md"}, "d"),
        result(WELL, "d"),
    )
    assert find_opened_skills(told) == (
        SkillOpening(name="two", number=7, at=AT + timedelta(minutes=2)),
        SkillOpening(name="one", number=8, at=AT + timedelta(minutes=3)),
    )


def test_one_command_may_open_several() -> None:
    script = (
        "cat .claude/skills/one/SKILL.md ~/.agents/skills/two/SKILL.md && openskills read three,four five"
    )
    assert names("Bash", {"command": script}) == ["one", "two", "three", "four", "five"]


@pytest.mark.parametrize(
    "text",
    [
        "/deploy-app",
        "/deploy-app to staging",
        "/tools:deploy-app",
        "  $deploy-app please",
        "<command-name>/deploy-app</command-name>",
        "<command-message>it runs</command-message>\n<command-name>/deploy-app</command-name>",
    ],
)
def test_a_command_of_the_user_opens_a_skill(text: str) -> None:
    assert requested(text) == ["deploy-app"]
    assert requested(text, words_of="another agent") == []


@pytest.mark.parametrize(
    "text",
    [
        "deploy-app",
        "run /deploy-app",
        "/deploy-app/SKILL.md is broken",
        "/Deploy",
        "$HOME is wrong",
        "/",
        "",
        "<b>/deploy-app</b>",
        "<command-message></command-message>",
    ],
)
def test_other_requests_open_none(text: str) -> None:
    assert requested(text) == []


def test_what_was_forgotten_opens_nothing() -> None:
    emptied: Sequence[tuple[EventType, JsonObject]] = [(kind, {}) for kind in EventType]
    assert find_opened_skills(events(*emptied)) == ()


def test_a_transcript_tells_the_same_at_its_own_times() -> None:
    told = events(asked("/one"), call("Skill", {"skill": "two"}), result(WELL))
    entries = [ToldEvent(entry=Entry(type=each.type, body=each.body), at=each.at) for each in told]
    run = ToldRun(
        agent=TranscriptAgent.CLAUDE_CODE,
        source_session="s",
        ordinal=0,
        first_number=5,
        events=tuple(entries),
        folder="",
    )
    assert find_opened_in_transcript(run) == find_opened_skills(told) != ()
    assert (
        find_opened_in_transcript(replace(run, agent=TranscriptAgent.AIDER))
        == find_opened_skills(told, agent="aider")
        == ()
    )
    timeless = replace(run, events=(entries[0], *(replace(each, at=None) for each in entries[1:])))
    assert [each.at for each in find_opened_in_transcript(timeless)] == [AT, AT]


@given(
    folder=st.sampled_from(sorted(SKILL_FOLDERS)), base=st.sampled_from(["", "/", "~/", "/a/b/", "./x/../"])
)
def test_a_file_is_a_skills_in_every_folder_that_agents_look_in(folder: str, base: str) -> None:
    path = f"{base}{folder}/deploy-app/SKILL.md"
    assert skill_of_path(path) == "deploy-app"
    assert skill_of_path(f"{base}not{folder}/deploy-app/SKILL.md") == ""
    if not base.startswith("/"):
        assert skill_of_path("deploy-app/SKILL.md", f"{base}{folder}") == "deploy-app"
        assert skill_of_path("SKILL.md", f"{base}{folder}/deploy-app/") == "deploy-app"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just(FILE) | st.just("one:two"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["skill", "name", "command", "path", "file_path", "tool_calls", "tool", "cmd"]),
            inner,
        )
    ),
    max_leaves=12,
)
_TOOLS = sorted({*OPENING_TOOLS, *READING_TOOLS, "bash", "exec", "batch", "str_replace_editor", "\ud800"})


@given(tool=st.sampled_from(_TOOLS), arguments=_JSON, output=_JSON)
def test_any_call_is_read_without_failing_and_tells_valid_names_only(
    tool: str, arguments: JsonValue, output: JsonValue
) -> None:
    for name in names(tool, arguments, {"output": output}):
        assert is_valid_name(name)


def test_the_tables_agree_with_those_of_what_is_read_from_outside() -> None:
    shells = {tool for tool in READING_TOOLS | OPENING_TOOLS if runs_commands(tool)}
    assert shells == set()
    assert {name for name in ("skill", "activate_skill", "use_skill") if outside_of_tool(name)} == set()
    assert all(tool == tool.lower() for tool in (*READING_TOOLS, *OPENING_TOOLS, *PRINTING_PROGRAMS))


def _hostile() -> list[tuple[str, JsonValue]]:
    paths = " ".join(["a/../" * 180 + "SKILL.md"] * 20)
    return [
        ("Skill", {"skill": ":" * 300_000}),
        ("Skill", {"skill": " " * 300_000}),
        ("Skill", "{" * 16_000),
        ("Skill", {f"k{number}": "x" for number in range(20_000)}),
        ("Read", {"file_path": "/" * 100_000 + "SKILL.md"}),
        ("Read", {"paths": [".claude/skills/-/SKILL.md"] * 20_000}),
        ("Bash", {"command": f"cat {paths}"[:8_000]}),
        ("Bash", {"command": "cd a;" * 1_500 + "cat x/SKILL.md"}),
        ("Bash", {"command": "cat SKILL.md " + "$((" * 2_500}),
        ("Bash", {"command": "SKILL.md" + "|" * 8_000}),
        ("Bash", {"command": "cat SKILL.md " + "'\"" * 100_000}),
    ]


@pytest.mark.parametrize("place", range(len(_hostile())))
def test_hostile_arguments_cost_bounded_time(place: int) -> None:
    tool, arguments = _hostile()[place]
    told = events(*(call(tool, arguments, f"c{number}") for number in range(1_000)))
    begun = time.process_time()
    assert find_opened_skills(told) == ()
    assert time.process_time() - begun < 2


def test_as_many_names_are_told_as_may_be() -> None:
    pairs = [
        pair
        for number in range(NAMES_MAX + 20)
        for pair in (call("Skill", {"skill": f"s{number}"}), result(WELL))
    ]
    assert [each.name for each in find_opened_skills(events(*pairs))] == [
        f"s{number}" for number in range(NAMES_MAX)
    ]
    spent = skill_uses.OpeningBudget(calls=0)
    assert skill_uses.find_opened_by_call({"name": "Skill", "arguments": {"skill": "one"}}, spent) == ()
