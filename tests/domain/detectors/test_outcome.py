"""What became of a shell call: exit code, then the tool's flag, then text; refusals say nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.detectors.mined import Outcome
from runlore.domain.detectors.outcome import ENDED, error_lines, failing_line, judge_results, output_text
from runlore.domain.detectors.outcome_texts import FAILURES, REFUSALS, UNFINISHED, TextRow
from runlore.domain.detectors.recovery_texts import ABOUT_CODE, ABOUT_COMMAND, is_about_code, is_about_command
from runlore.domain.record import JsonObject, JsonValue

pytestmark = pytest.mark.req("SKL-3")

HARMLESS = [
    "0 errors",
    "Found 0 errors in 3 files",
    "test error_handling ... ok",
    "tests/test_error_handling.py::test_error PASSED",
    "error_handling: ok",
    "errors: 0 warnings: 0",
    "PASS\nok  \tpkg/errors\t0.2s",
    "no errors found",
    "Compiled with 0 failures",
    "ErrorBoundary.tsx | 3 +-",
    "create mode 100644 src/errors.py",
    "src/fatal.c | 1 +",
    "Successfully installed error-0.1",
    "5 passed, 0 failed",
    "summary: error: 0 errors, 1 warning",
    "FAILED: 0 failed, 12 passed",
    "now building node modules",
]
FAILING = [
    "error: pathspec 'x' did not match",
    "ERROR: Could not find a version that satisfies the requirement request",
    "Error: No matching distribution",
    "fatal: not a git repository",
    "npm ERR! missing script: biuld",
    "npm error code ELIFECYCLE",
    "error[E0308]: mismatched types",
    "src/a.ts:3:1 - error TS2322: wrong",
    "main.c:3:5: error: expected ';'",
    "Traceback (most recent call last):\n  File 'a.py'\nValueError: no",
    "bash: foo: command not found",
    "zsh: command not found: go",
    "sh: 1: foo: not found",
    "FAILED tests/test_a.py::test_b - assert 1 == 2",
    "FAIL\tpkg/auth\t0.1s",
    "--- FAIL: TestX (0.00s)",
    "== 2 failed, 3 passed in 0.1s ==",
    "Tests:       1 failed, 9 passed, 10 total",
    "make: *** [all] Error 2",
    "BUILD FAILED in 3s",
    "cat: x: No such file or directory",
    "exit status 1",
    "panic: runtime error",
]


def told(output: JsonValue = "", **fields: JsonValue) -> JsonObject:
    return {"call_id": "1", "output": output, **fields}


@pytest.mark.parametrize("text", [*HARMLESS, *FAILING])
@pytest.mark.parametrize("code", [0, 1, 2, 101])
def test_an_exit_code_decides_whatever_the_text_and_the_flag_say(text: str, code: int) -> None:
    outcome = Outcome.SUCCEEDED if code == 0 else Outcome.FAILED
    for flag in ({}, {"is_error": True}, {"is_error": False}):
        judgement = judge_results([told(text, exit_code=code, **flag)])
        assert (judgement.outcome, judgement.exit_code) == (outcome, code)


@pytest.mark.parametrize("text", [*HARMLESS, *FAILING])
def test_without_an_exit_code_the_flag_decides(text: str) -> None:
    assert judge_results([told(text, is_error=True)]).outcome is Outcome.FAILED
    assert judge_results([told(text, is_error=False)]).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("text", HARMLESS)
def test_text_that_mentions_errors_is_no_failure(text: str) -> None:
    assert judge_results([told(text)]).outcome is Outcome.SUCCEEDED
    assert failing_line(text) == ""


@pytest.mark.parametrize("text", FAILING)
def test_text_that_tells_of_a_failure_is_one_where_nothing_else_is_known(text: str) -> None:
    judgement = judge_results([told(f"working on it\n{text}\n")])
    assert judgement.outcome is Outcome.FAILED
    assert judgement.error


@pytest.mark.parametrize("text", FAILING)
def test_what_a_search_finds_is_no_failure(text: str) -> None:
    assert judge_results([told(text)], is_asking=True).outcome is Outcome.SUCCEEDED


def test_a_question_answered_with_no_is_no_failure() -> None:
    assert judge_results([told("", exit_code=1)], is_asking=True).outcome is Outcome.UNKNOWN
    assert judge_results([told("", exit_code=2)], is_asking=True).outcome is Outcome.FAILED


def test_the_success_of_what_a_command_is_piped_into_is_not_its_own() -> None:
    assert judge_results([told("--- FAIL: TestX", exit_code=0)], is_masked=True).outcome is Outcome.FAILED
    assert judge_results([told("--- FAIL: TestX", is_error=False)], is_masked=True).outcome is Outcome.FAILED
    assert judge_results([told("ok pkg", exit_code=0)], is_masked=True).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.shows[:24])
def test_a_refusal_is_neither_success_nor_failure(row: TextRow) -> None:
    text = row.shows.replace("...", " the call")
    assert judge_results([told(text, is_error=True)]).outcome is Outcome.REFUSED
    assert judge_results([told(text)]).outcome is Outcome.REFUSED
    assert judge_results([told(text, exit_code=1)]).outcome is Outcome.REFUSED


def test_what_a_command_prints_about_refusals_is_none() -> None:
    text = "rejected by user"
    assert judge_results([told(text, is_error=False)]).outcome is Outcome.SUCCEEDED
    assert judge_results([told(text, exit_code=0)]).outcome is Outcome.SUCCEEDED
    assert judge_results([told("line\n" * 400 + text)]).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("row", UNFINISHED, ids=lambda row: row.shows[:24])
def test_a_call_that_goes_on_or_was_cut_off_has_no_known_outcome(row: TextRow) -> None:
    for flag in ({}, {"is_error": False}, {"is_error": True}):
        assert judge_results([told(row.shows, **flag)]).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("code", sorted(ENDED))
def test_what_somebody_has_ended_has_no_known_outcome(code: int) -> None:
    assert judge_results([told("", exit_code=code)]).outcome is Outcome.UNKNOWN


def test_a_call_without_a_result_has_no_known_outcome() -> None:
    assert judge_results([]).outcome is Outcome.UNKNOWN


def test_of_several_results_the_last_with_an_exit_code_counts() -> None:
    running = told("Process running with session ID 7")
    assert judge_results([running, told("done", exit_code=0)]).outcome is Outcome.SUCCEEDED
    assert judge_results([running, told("done", exit_code=3), told("")]).exit_code == 3
    assert judge_results([told("a", exit_code=1), told("b", exit_code=0)]).outcome is Outcome.SUCCEEDED
    assert judge_results([running]).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("rows", [REFUSALS, UNFINISHED, FAILURES, ABOUT_COMMAND, ABOUT_CODE])
def test_every_row_of_the_tables_has_an_example_and_a_reason(rows: tuple[TextRow, ...]) -> None:
    assert all(row.shows and row.why and row.pattern for row in rows)


@pytest.mark.parametrize("row", FAILURES, ids=lambda row: row.shows[:24])
def test_the_examples_of_failures_are_found(row: TextRow) -> None:
    for example in row.shows.split(", "):
        if example.strip() not in ("3 passed in 1.2s ==", "9 total"):
            assert failing_line(example), example


@pytest.mark.parametrize("row", ABOUT_COMMAND, ids=lambda row: row.shows[:24])
def test_an_error_of_the_command_is_not_one_of_the_code(row: TextRow) -> None:
    assert is_about_command(row.shows)
    assert not is_about_code(row.shows)


@pytest.mark.parametrize("row", ABOUT_CODE, ids=lambda row: row.shows[:24])
def test_an_error_of_the_code_is_not_one_of_the_command(row: TextRow) -> None:
    assert is_about_code(row.shows)
    assert not is_about_command(row.shows)


def test_the_line_that_tells_best_is_kept() -> None:
    pip = "Collecting request\nERROR: No matching distribution found for request\n[notice] a new release"
    assert error_lines(pip)[:1] == ["ERROR: No matching distribution found for request"]
    trace = "Traceback (most recent call last):\n  File 'a.py', line 1\nKeyError: 'port'\n"
    assert error_lines(trace)[:1] == ["KeyError: 'port'"]
    assert error_lines("Exit code 1\nsomething odd happened\n")[:1] == ["something odd happened"]
    assert error_lines("Exit code 1") == []
    assert error_lines("Process exited with code 2\nOutput:\nnot good")[:1] == ["not good"]


def test_other_lines_that_say_why_are_kept_behind_it_each_once() -> None:
    printed = "FAIL acme/e2e [setup failed]\nzsh: command not found: rg\nFAIL acme/e2e [setup failed]\nfine"
    assert error_lines(printed) == ["FAIL acme/e2e [setup failed]", "zsh: command not found: rg"]
    ended = judge_results([{"output": printed, "exit_code": 1}])
    assert (ended.error, ended.more) == ("FAIL acme/e2e [setup failed]", "zsh: command not found: rg")


@pytest.mark.parametrize(
    "kind", ['CreateProcess { message: "Codex(Sandbox(Denied { output: ', "SandboxDenied { "]
)
def test_what_codex_tells_of_its_sandbox_is_a_failure_with_the_program_s_own_words(kind: str) -> None:
    told = (
        f"exec_command failed for `/bin/zsh -lc 'go mod tidy'`: {kind}ExecToolCallOutput {{ exit_code: 1, "
        'stdout: StreamOutput { text: "" }, stderr: StreamOutput { text: "go: tidy\\n'
        'go: open /x/cache/a-d: operation not permitted\\n" }'
    )
    ended = judge_results([{"output": told}])
    assert (ended.outcome, ended.exit_code) == (Outcome.FAILED, 1)
    assert ended.error == "go: open /x/cache/a-d: operation not permitted"
    assert (
        judge_results([{"output": "exec_command failed for `rm`: Rejected(by user)"}]).outcome
        is not Outcome.FAILED
    )


def test_an_error_line_is_short_and_holds_no_secret() -> None:
    (line,) = error_lines("error: token ghp_0123456789abcdefghijABCDEFGHIJ012345 is not valid " + "x" * 900)
    assert "ghp_" not in line
    assert len(line) <= limits.STEP_ERROR_CHARS_MAX


def test_an_output_may_come_in_parts() -> None:
    assert output_text({"stdout": "a", "stderr": "b"}) == "a\nb"
    assert output_text([{"type": "text", "text": "a"}, "b", 3, None]) == "a\nb\n\n"
    assert judge_results([told([{"type": "text", "text": "fatal: no"}])]).outcome is Outcome.FAILED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(JSON, st.none() | st.integers(-300, 300) | st.booleans(), JSON, st.booleans(), st.booleans())
def test_any_result_is_judged(
    output: JsonValue, code: int | None, flag: JsonValue, asking: bool, masked: bool
) -> None:
    fields: dict[str, JsonValue] = {"is_error": flag, **({} if code is None else {"exit_code": code})}
    judgement = judge_results([told(output, **fields)], is_asking=asking, is_masked=masked)
    assert judgement.outcome in Outcome
    assert judgement == judge_results([told(output, **fields)], is_asking=asking, is_masked=masked)


@pytest.mark.parametrize(
    "unit", ["error", "a: ", ": error", "FAIL ", "-", "\n", "x.", "== 1 failed, ", "exit "]
)
def test_a_long_output_costs_no_more_than_its_ends(unit: str) -> None:
    assert judge_results([told(unit * 200_000)]).outcome in Outcome
