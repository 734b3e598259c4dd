"""Everyday work of many tools, told as a plain transcript, gives its suggestion through the whole path."""

from pathlib import Path

import pytest

from tests.domain.detectors import everyday_sessions as everyday
from tests.domain.plain_transcripts import learned

pytestmark = pytest.mark.req("SKL-2", "SKL-3", "SKL-4")


@pytest.mark.parametrize("case", everyday.PROCEDURES, ids=lambda case: case.name)
def test_four_calls_in_a_row_are_a_procedure_of_four_steps(case: everyday.Everyday, tmp_path: Path) -> None:
    found = learned(tmp_path, [("do it", case.calls)])

    assert case.name in found
    assert found[case.name].heuristic == "multi-step"
    assert found[case.name].commands == case.commands


def test_a_folder_that_the_next_calls_use_is_a_step_and_one_that_none_uses_is_not(tmp_path: Path) -> None:
    packing = ("mkdir -p out", "make clean", "make dist", "tar -czf out.tgz out")
    coding = ("mkdir -p src/parser", "just build", "just test", "just lint")
    found = learned(tmp_path, [("pack it", packing)], [("begin", coding)])

    assert found["procedure-make"].commands == packing
    assert found["procedure-just"].commands == coding[1:]


@pytest.mark.parametrize(
    "calls",
    [
        ("git fetch origin", "git rebase origin/main", "just test", "git push"),
        ("git fetch origin", "git merge origin/main", "just test", "git push"),
        ("gh pr checks 7", "gh run view 9 --log-failed", "just fmt", "git push"),
    ],
)
def test_bringing_a_branch_up_to_date_and_looking_into_a_pipeline_are_steps(
    calls: tuple[str, ...], tmp_path: Path
) -> None:
    (found,) = learned(tmp_path, [("do it", calls)]).values()

    assert [command.split()[:2] for command in found.commands] == [call.split()[:2] for call in calls]


@pytest.mark.parametrize("case", everyday.RECOVERIES, ids=lambda case: f"{case.name}: {case.error[:30]}")
def test_a_failure_that_was_put_right_is_a_recovery(case: everyday.Mended, tmp_path: Path) -> None:
    between = [case.by] if case.by else []
    found = learned(tmp_path, [("do it", [f"!{case.failed} # {case.error}", *between, case.worked])])

    assert case.name in found
    assert found[case.name].heuristic == "error-recovery"
    assert found[case.name].commands == (case.failed, *between, case.worked)
    assert f"1. Run `{case.by or case.worked}`" in found[case.name].body


@pytest.mark.parametrize("case", everyday.REPEATED, ids=lambda case: case.name)
def test_a_command_that_is_run_twice_in_a_session_is_a_repeated_action(
    case: everyday.Repeated, tmp_path: Path
) -> None:
    first, second = case.twice
    found = learned(tmp_path, [("do it", [first, *everyday.BESIDE, second])])

    assert case.name in found
    assert found[case.name].heuristic == "repeated-action"
    assert found[case.name].times == 2


@pytest.mark.parametrize("case", everyday.CORRECTED, ids=lambda case: case.said)
def test_a_command_that_the_user_corrected_is_a_correction(case: everyday.Corrected, tmp_path: Path) -> None:
    found = learned(tmp_path, [("do it", [case.wrong]), (case.said, [case.right])])

    assert case.name in found
    assert found[case.name].heuristic == "user-correction"
    assert found[case.name].commands == (case.wrong, case.right)


@pytest.mark.parametrize("case", everyday.PROCEDURES, ids=lambda case: case.name)
def test_what_three_sessions_do_in_the_same_order_is_a_procedure_of_several_sessions(
    case: everyday.Everyday, tmp_path: Path
) -> None:
    calls = case.calls[:3]
    found = learned(tmp_path, *([(f"do it {number}", calls)] for number in range(3)))

    assert [each.heuristic for each in found.values()] == ["cross-session"]
    assert [each.commands for each in found.values()] == [calls]


@pytest.mark.parametrize("case", everyday.PROCEDURES[:8], ids=lambda case: case.name)
def test_what_the_user_asks_to_keep_has_the_name_and_the_commands(
    case: everyday.Everyday, tmp_path: Path
) -> None:
    found = learned(tmp_path, [("do it", case.calls[:2]), ('save this as a skill: "my way"', [])])

    assert found["my-way"].heuristic == "explicit-instruction"
    assert found["my-way"].commands == case.calls[:2]


@pytest.mark.parametrize("calls", everyday.NOTHING, ids=lambda calls: calls[0][:50])
def test_what_served_the_moment_gives_nothing(calls: tuple[str, ...], tmp_path: Path) -> None:
    assert learned(tmp_path, [("do it", calls)]) == {}
