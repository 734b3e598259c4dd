"""The import contracts of pyproject.toml hold, and each of them would notice a breach."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT

# For every contract, by name, the files that break it and what each of them holds.
BREACHES = {
    "Layers: surfaces, daemon, flow and adapters, ports, domain": {
        "ports/planted.py": "import runlore.daemon"
    },
    "Stages meet in the store, not in imports": {"flow/capture/planted.py": "import runlore.flow.review"},
    "The domain does no I/O": {"domain/planted.py": "import os"},
    "Database drivers live in storage": {"daemon/planted.py": "import apsw"},
    "Only the daemon picks implementations": {"cli/planted.py": "import runlore.storage"},
    "No cycles between siblings": {
        "recall/one.py": "import runlore.recall.two",
        "recall/two.py": "import runlore.recall.one",
    },
    "Settings are read at the top and passed down": {"api/planted.py": "import runlore.config"},
    "The web framework lives in the API": {"daemon/planted.py": "import starlette"},
}


def test_the_contracts_hold() -> None:
    checked = lint_imports(ROOT)

    assert checked.returncode == 0, checked.stdout


def test_every_contract_has_a_planted_breach() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]

    assert {contract["name"] for contract in settings["contracts"]} == set(BREACHES)


def test_all_breaches_are_found_at_once(copy: Path) -> None:
    for breach in BREACHES.values():
        for path, line in breach.items():
            with (copy / path).open("a") as file:
                file.write(f"{line}\n")

    checked = lint_imports(copy.parents[1])

    assert [contract for contract in BREACHES if f"{contract} BROKEN" not in checked.stdout] == []


@pytest.mark.soak
@pytest.mark.parametrize("contract", BREACHES)
def test_a_breach_of_the_contract_is_found(contract: str, copy: Path) -> None:
    for path, line in BREACHES[contract].items():
        (copy / path).write_text(f"{line}\n")

    checked = lint_imports(copy.parents[1])

    assert checked.returncode == 1
    assert f"{contract} BROKEN" in checked.stdout


def test_a_new_folder_at_the_top_is_found(copy: Path) -> None:
    (copy / "planted").mkdir()
    (copy / "planted/__init__.py").touch()

    checked = lint_imports(copy.parents[1])

    assert checked.returncode == 1
    assert "runlore.planted" in checked.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package to plant breaches in, with the project's contracts beside it."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return shutil.copytree(ROOT / PACKAGE, tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))


def lint_imports(project: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the package below `project`, whichever one is installed."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project / PACKAGE).removesuffix("/runlore"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
