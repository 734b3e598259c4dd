"""What is installed is pinned by hashes, what is released is the same bytes wherever it is built (SEC-7)."""

import io
import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from hatch_build import compiler
from runlore.recall.kernel import library_beside
from scripts.release import BILL, HERE, bill_of_materials, build
from tests.architecture.source_tree import project_files

pytestmark = pytest.mark.req("SEC-7")

EPOCH = "1700000000"
REQUIREMENTS = sorted((HERE / "requirements").glob("*.txt"))


def copy_tree(target: Path, *, touched_at: float) -> Path:
    """What a build reads, as another checkout would have it: other times, other permissions."""
    shutil.copytree(HERE / "src", target / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (target / "requirements").mkdir()
    for name in (
        "pyproject.toml",
        "hatch_build.py",
        "README.md",
        "LICENSE",
        ".gitignore",
        "requirements/run.txt",
    ):
        shutil.copy(HERE / name, target / name)
    for path in target.rglob("*"):
        os.utime(path, (touched_at, touched_at))
        path.chmod(path.stat().st_mode ^ 0o020)
    return target


def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for name, touched_at in (("one", 1e9), ("other", 1.6e9)):
        tree = copy_tree(tmp_path / name, touched_at=touched_at)
        build(tree, tree / "dist", EPOCH)
        made.append({path.name: path.read_bytes() for path in (tree / "dist").iterdir()})

    assert sorted({Path(name).suffix for name in made[0]}) == [".gz", ".json", ".whl"]
    assert made[0] == made[1]
    # One wheel for any machine, and where there is a compiler another with what `recall.kernel` looks for.
    library = library_beside(HERE / "src/runlore/recall/kernel.c").name
    compiled = {
        name.endswith("-any.whl"): _holds(content, library)
        for name, content in made[0].items()
        if name.endswith(".whl")
    }
    assert compiled == ({True: False, False: True} if compiler() else {True: False})
    assert json.loads(made[0][BILL])["components"]
    assert [path for path in project_files() if path.name.endswith(".cdx.json")] == []


def _holds(wheel: bytes, library: str) -> bool:
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        return f"runlore/recall/{library}" in archive.namelist()


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.name)
def test_every_pin_has_hashes_and_no_file_names_a_host(path: Path) -> None:
    pins = re.split(r"\n(?=\S)", path.read_text(encoding="utf-8").strip())

    assert all(re.match(r"[\w.-]+==\S+", pin) for pin in pins)
    assert [pin for pin in pins if "--hash=sha256:" not in pin] == []
    assert "//" not in path.read_text(encoding="utf-8")


def test_wheels_alone_are_installed_and_by_their_hashes() -> None:
    installing = [
        line
        for line in (HERE / "scripts/setup.sh").read_text(encoding="utf-8").splitlines()
        if "pip install" in line and "--editable ." not in line
    ]

    assert installing
    assert all("--require-hashes --only-binary :all:" in line for line in installing)


def test_the_bill_of_materials_names_all_that_is_pinned() -> None:
    path = HERE / "requirements/run.txt"
    bill = bill_of_materials(path, "1.2.3", int(EPOCH))
    told = [(part["name"], part["version"]) for part in bill["components"]]  # type: ignore[attr-defined]

    assert told == re.findall(r"^([\w.-]+)==([\w.+!-]+)", path.read_text(encoding="utf-8"), re.M)
    assert bill == bill_of_materials(path, "1.2.3", int(EPOCH))


def test_a_release_is_tried_where_nothing_else_is_installed() -> None:
    (steps,) = re.findall(
        r"^release:.*\n((?:\t.*\n)+)", (HERE / "Makefile").read_text(encoding="utf-8"), re.M
    )
    assert "DIST=" in steps
    assert '-m "soak or not soak"' in steps
    for path in re.findall(r"tests/\S+", steps):
        assert (HERE / path).is_file()
    assert "tests/surfaces/test_installed.py" in steps
