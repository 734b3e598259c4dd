"""What is noise in one toolchain is noise in the others."""

from pathlib import Path

import pytest

from tests.domain.plain_transcripts import learned
from tests.domain.suggesting import toolchain_sessions as toolchains

pytestmark = pytest.mark.req("SKL-2", "SKL-14")


@pytest.mark.parametrize("calls", toolchains.NOISE, ids=lambda calls: calls[0][:40])
def test_noise_of_a_toolchain_comes_to_nothing(calls: tuple[str, ...], tmp_path: Path) -> None:
    assert learned(tmp_path, [("do it", calls)]) == {}
