"""What is true of one toolchain is true of the others: what is a procedure is suggested, and noise is not."""

from pathlib import Path

import pytest

from tests.domain.plain_transcripts import learned
from tests.domain.suggesting import toolchain_sessions as toolchains
from tests.domain.suggesting.toolchain_sessions import Shown

pytestmark = pytest.mark.req("SKL-2", "SKL-4")

ACME = "/srv/acme/api"


@pytest.mark.parametrize("case", toolchains.SHOWN, ids=lambda case: case.name)
def test_sessions_of_a_toolchain_come_to_one_clean_procedure(case: Shown, tmp_path: Path) -> None:
    found = learned(tmp_path, *([("do it", calls)] for calls in case.sessions), project=ACME)

    assert [*found] == [case.name]
    steps = found[case.name].body.partition("## Step-by-Step")[2].partition("## ")[0]
    assert tuple(line for line in steps.splitlines() if line[:1].isdigit()) == case.steps


@pytest.mark.parametrize("calls", toolchains.NOISE, ids=lambda calls: calls[0][:40])
def test_noise_of_a_toolchain_comes_to_nothing(calls: tuple[str, ...], tmp_path: Path) -> None:
    assert learned(tmp_path, [("do it", calls)]) == {}


@pytest.mark.parametrize("case", toolchains.SHOWN, ids=lambda case: case.name)
def test_noise_beside_a_procedure_changes_none_of_its_steps(case: Shown, tmp_path: Path) -> None:
    talks = [[("do it", calls)] for calls in (*case.sessions, *toolchains.NOISE)]
    found = learned(tmp_path, *talks, project=ACME)

    assert [*found] == [case.name]
