"""Commands inside program texts: each literal is read as the language reads it, and nothing is guessed."""

import json
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.agents.transcripts.codex_program import (
    CALLS_MAX,
    PROGRAM_CHARS_MAX,
    argument_of,
    program_calls,
)
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.transcript import ToldRun
from tests.agents.transcripts.codex_lines import Codex, flat
from tests.agents.transcripts.told_runs import bodies, called, results
from tests.agents.transcripts.transcript_files import read, write

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SKL-3")]

COMMANDS = st.text(
    st.one_of(st.sampled_from("\"'`\\${}()[],;:/*\n\t #&|=+"), st.characters(codec="utf-8")), max_size=40
)


def commands_of(text: str) -> list[object]:
    return [argument_of(call).get("cmd") for call in program_calls(text) if call.name == "exec_command"]


def template(command: str) -> str:
    return (
        f"`{command.replace(chr(92), chr(92) * 2).replace('`', chr(92) + '`').replace('${', chr(92) + '${')}`"
    )


def single(command: str) -> str:
    inner = json.dumps(command)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{inner}'"


@given(st.lists(COMMANDS, min_size=1, max_size=4), st.sampled_from([json.dumps, template, single]))
def test_every_way_to_write_a_text_gives_the_text(commands: list[str], written: object) -> None:
    assert callable(written)
    calls = [
        f"tools.exec_command({{cmd: {written(each)}, workdir: '/w', yield_time_ms: 1000}})"
        for each in commands
    ]
    assert (
        commands_of(f"const [a, b] = await Promise.all([\n{', '.join(calls)}]);\ntext(a.output)") == commands
    )


@given(COMMANDS)
def test_no_text_makes_a_call_out_of_what_stands_in_a_literal(command: str) -> None:
    hidden = f"tools.exec_command({{cmd: 'rm'}}) {command}"
    assert commands_of(f"const note = {json.dumps(hidden)}; tools.exec_command({{cmd: 'ls'}})") == ["ls"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('await tools.exec_command({"cmd":"make","workdir":"/w"})', ["make"]),
        ("tools . exec_command ( { cmd : 'make' , } )", ["make"]),
        ("const cmd = 'make';\nawait tools.exec_command({cmd, workdir: '/w'})", ["make"]),
        ("const dir = 'src';\nawait tools.exec_command({cmd: `ls ${dir}/a`})", ["ls src/a"]),
        ("await tools.exec_command({cmd: `ls ${dir}/a`})", ["ls ${dir}/a"]),
        ("await tools.exec_command({cmd: `ls ${f({a: 1})} b`})", ["ls ${f({a: 1})} b"]),
        ("await tools.exec_command({cmd: 'a' +\n 'b' + `c`})", ["abc"]),
        ("await tools.exec_command({cmd: ['a', 'b'].join(' && ')})", ["a && b"]),
        ("await tools.exec_command({cmd: ('a')})", ["a"]),
        ("await tools.exec_command({cmd: String.raw`grep \\d`})", ["grep \\d"]),
        ("await tools.exec_command({cmd: 'a\\u0062\\x63\\u{64}\\\ne'})", ["abcde"]),
        ("await tools.exec_command({cmd: run(x, {a: ')'}), workdir: '/w'})", [None]),
        ("let cmd = 'a'; cmd = other(); await tools.exec_command({cmd: name})", [None]),
        ("for (const cmd of cmds) await tools.exec_command({cmd})", [None]),
        ("// tools.exec_command({cmd: 'no'})\ntools.exec_command({cmd: 'yes'})", ["yes"]),
        ("/* tools.exec_command({cmd: 'no'}) */tools.exec_command({cmd: 'yes'})", ["yes"]),
        ("x.split(/[\"'`]/); tools.exec_command({cmd: 'yes'})", ["yes"]),
        ("a / b; tools.exec_command({cmd: 'yes'}); c / d", ["yes"]),
        ("mytools.exec_command({cmd: 'no'}); tools.exec_command({cmd: /* how */ 'yes' // so\n})", ["yes"]),
        ("const r = await tools.exec_command({cmd: 'inside'}).then(x => x)", ["inside"]),
        ("const all = {a: await tools.exec_command({cmd: 'inside'})};", ["inside"]),
        ("tools.exec_command({cmd: 'cut of", [None]),
        ("tools.exec_command(", [None]),
        ("tools.exec_command({cmd: 'a', deep: {n: [1, -2.5, true, null, undefined, 1_000]}})", ["a"]),
    ],
)
def test_a_program_is_read_as_it_is_written(text: str, expected: list[object]) -> None:
    assert commands_of(text) == expected


def test_other_tools_are_told_with_what_they_are_given() -> None:
    patch = "*** Begin Patch\n*** End Patch"
    calls = program_calls(
        f"const p = {json.dumps(patch)}; await tools.apply_patch(p); tools.mcp__a__b({{n: 3}})"
    )
    assert [(call.name, argument_of(call)) for call in calls] == [
        ("apply_patch", {"input": patch}),
        ("mcp__a__b", {"n": 3.0}),
    ]


@pytest.mark.parametrize(
    "piece",
    [
        "const a={b:(",
        "`${a(",
        "=/[",
        "tools.f({a:[{",
        "const a=`\\",
        "/*",
        "'\\",
        "tools.f(`${`",
        "((((",
        "tools.exec_command({cmd:",
        "const a='x'+",
    ],
)
def test_a_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    text = "tools " + piece * (PROGRAM_CHARS_MAX // len(piece) - 8)
    began = process_time()
    assert len(program_calls(text)) <= CALLS_MAX
    assert process_time() - began < 3
    assert program_calls(text * 3) == ()


@given(st.text(st.sampled_from("tolsexc_mand({:'\"`$}[]),/*\\+=n \n"), max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    program_calls(f"tools.exec_command({text}")


def run_of(tmp_path: Path, *lines: object) -> ToldRun:
    codex = Codex()
    [run] = read(write(tmp_path / "rollout.jsonl", flat(codex.meta(), codex.says("Go"), *lines)))
    return run


def calls(run: ToldRun) -> list[tuple[object, object]]:
    return [(body["call_id"], body["arguments"].get("cmd")) for body in bodies(run, EventType.TOOL_CALL)]


TWO = "await tools.exec_command({cmd: 'make'}); await tools.exec_command({cmd: 'make test'});"


def test_each_command_of_a_program_is_a_call_with_its_own_answer(tmp_path: Path) -> None:
    codex = Codex()
    run = run_of(
        tmp_path,
        codex.program("x", TWO),
        codex.put_out("x", "made", '{"exit_code": 2, "output": "1 failed"}'),
    )
    assert calls(run) == [("x#1", "make"), ("x#2", "make test")]
    assert results(run) == [("x#1", "made", None), ("x#2", "1 failed", 2)]


def test_answers_with_exit_codes_are_told_apart_from_other_texts(tmp_path: Path) -> None:
    codex = Codex()
    run = run_of(
        tmp_path,
        codex.program("x", TWO),
        codex.put_out("x", "note", '{"exit_code": 0, "output": "a"}', '{"exit_code": 1, "output": "b"}'),
    )
    assert results(run) == [("x#1", "a", 0), ("x#2", "b", 1)]


@pytest.mark.parametrize(
    ("how", "texts"),
    [
        ("completed", ["one", "two", "three"]),
        ("completed", ["one"]),
        ("failed", ["one", "two"]),
        ("terminated", ["one", "two"]),
    ],
)
def test_what_cannot_be_told_apart_decides_nothing_about_any_command(
    tmp_path: Path, how: str, texts: list[str]
) -> None:
    codex = Codex()
    run = run_of(tmp_path, codex.program("x", TWO), codex.put_out("x", *texts, how=how))
    assert results(run) == [("x", "\n".join(texts), None)]
    assert calls(run) == [("x#1", "make"), ("x#2", "make test")]


def test_a_program_that_hides_its_command_is_told_as_a_program(tmp_path: Path) -> None:
    codex = Codex()
    text = "for (const cmd of list) await tools.exec_command({cmd})"
    run = run_of(tmp_path, codex.program("x", text), codex.put_out("x", "out"))
    assert called(run) == ["exec"]
    assert results(run) == [("x", "out", None)]


def test_a_process_of_a_program_is_polled_by_a_later_program(tmp_path: Path) -> None:
    codex = Codex()
    run = run_of(
        tmp_path,
        codex.program("x", "text(JSON.stringify(await tools.exec_command({cmd: 'make'})))"),
        codex.put_out("x", '{"session_id": 65, "output": "half"}'),
        codex.program("y", "text(JSON.stringify(await tools.write_stdin({session_id: 65, chars: ''})))"),
        codex.put_out("y", '{"exit_code": 3, "output": "bad"}'),
    )
    assert calls(run) == [("x#1", "make")]
    assert results(run) == [("x#1", "Process running with session ID 65\nhalf", None), ("x#1", "bad", 3)]


def test_a_program_that_runs_on_is_answered_by_the_one_who_waits(tmp_path: Path) -> None:
    codex = Codex()
    run = run_of(
        tmp_path,
        codex.program("x", "text(JSON.stringify(await tools.exec_command({cmd: 'make'})))"),
        codex.output("x", "Script running with cell ID 9\nWall time 10.0 seconds\nOutput:\n"),
        codex.item("function_call", name="wait", call_id="w", arguments='{"cell_id": "9"}'),
        codex.put_out("w", '{"exit_code": 0, "output": "made"}'),
    )
    assert calls(run) == [("x#1", "make")]
    assert results(run) == [("x#1", "made", 0)]
