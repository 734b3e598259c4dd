"""Everyday work of many tools, told as a plain transcript, gives its suggestion through the whole path."""

from pathlib import Path

import pytest

from tests.domain.detectors import everyday_sessions as everyday
from tests.domain.plain_transcripts import learned

pytestmark = pytest.mark.req("SKL-2", "SKL-3", "SKL-4")


@pytest.mark.req("SKL-14", "SKL-15")
@pytest.mark.parametrize("case", everyday.PROCEDURES, ids=lambda case: case.calls[0])
def test_what_three_sessions_are_asked_for_is_one_procedure_and_what_one_is_none(
    case: everyday.Everyday, tmp_path: Path
) -> None:
    told = [("bring the shop to the stage", case.calls)]
    (found,) = learned(_folder(tmp_path, "three"), told, told, told).values()

    assert found.sessions == 3
    assert found.commands
    assert [call for call in case.calls if call in found.commands] == [*found.commands]
    assert learned(_folder(tmp_path, "one"), told) == {}


@pytest.mark.req("SKL-14", "SKL-16")
@pytest.mark.parametrize("case", everyday.RECOVERIES, ids=lambda case: f"{case.failed}: {case.error[:30]}")
def test_a_failure_that_was_put_right_is_a_fix(case: everyday.Mended, tmp_path: Path) -> None:
    between = [case.by] if case.by else []
    told = [("do it", [f"!{case.failed} # {case.error}", *between, case.worked])]
    # What the error tells itself is worth a skill where it was met again.
    is_told = bool(case.by) and case.by in case.error
    found = learned(_folder(tmp_path, "one"), told)
    assert bool(found) is not is_told
    found = learned(_folder(tmp_path, "two"), told, told) if is_told else found

    (fix,) = (each for each in found.values() if each.heuristic == "error-recovery")
    assert fix.name.startswith("fix-")
    assert [each.split()[:2] for each in fix.commands] == [
        each.split()[:2] for each in (case.failed, *between, case.worked)
    ]
    shown = (case.by or case.worked).replace(" fix", " <branch>")
    assert f"1. Run `{shown}`" in fix.body


@pytest.mark.req("SKL-14")
@pytest.mark.parametrize("case", everyday.REPEATED, ids=lambda case: case.name)
def test_a_plain_repeat_is_no_skill(case: everyday.Repeated, tmp_path: Path) -> None:
    first, second = case.twice
    told = [("do it", [first, *everyday.BESIDE, second])]
    assert "repeated-action" not in {each.heuristic for each in learned(tmp_path, told, told).values()}


@pytest.mark.req("SKL-17")
@pytest.mark.parametrize("case", everyday.CORRECTED, ids=lambda case: case.said)
def test_a_correction_teaches_what_the_user_said_of_the_command(
    case: everyday.Corrected, tmp_path: Path
) -> None:
    found = learned(tmp_path, [("do it", [case.wrong]), (case.said, [case.right])])

    (rule,) = (each for each in found.values() if each.heuristic == "user-correction")
    assert rule.commands == (case.wrong, case.right)
    assert f"“{case.said}”" in rule.body


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


def _folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name
