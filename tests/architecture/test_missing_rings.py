"""Where the kernel lacks what a ring of tests is about, the last lines of the run say which was not run."""

import subprocess
import sys

import pytest

from tests.architecture.source_tree import ROOT

RING = ("tests/agents/workspace/test_escapes.py", "tests/agents/workspace/test_obeyed_escapes.py")
# A filter of the kernel's own, under which making rules of Landlock (444, on any processor) is unknown (38).
WITHOUT_LANDLOCK = """
import ctypes, os, struct, sys
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7FFF0000)]
held = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HP", len(rules), ctypes.addressof(held))) == 0
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.req("SEC-1")
def test_a_run_without_landlock_names_the_ring_of_escapes_at_its_end() -> None:
    run = ["-m", "pytest", "-q", "-n", "0", "--collect-only", *RING]

    told = subprocess.run(
        [sys.executable, "-c", WITHOUT_LANDLOCK, *run], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()

    last = [line for line in told[-8:] if line.startswith("not run: ")]
    assert [line for line in last if "`landlock` (the ring of escapes): this kernel has no Landlock" in line]
    assert not [line for line in told if "::" in line]
