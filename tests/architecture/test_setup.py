"""Setting up does everything once, notices what is broken, and says what only root can do.

The interpreter, pip and apt-get are scripts that write down how they were called; the rest is real.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT

# Answers the questions that setup.sh asks a Python, and makes a .venv whose Python is this script again.
PYTHON = """\
#!/bin/sh
machine={machine}
case "$*" in
    *_base_executable*) [ -e "$machine/old" ] && exit 1; echo "$machine/bin/python3.12" ;;
    *base_prefix*) cat "$machine/identity" ;;
    *ensurepip*) [ -e "$machine/no-venv" ] && exit 1; exit 0 ;;
    *tests.system_programs*)
        [ ! -e "$machine/no-postgres" ] || echo postgresql
        [ ! -e "$machine/no-browser" ] || echo chromium ;;
    *d-venv*) echo python3.12-venv ;;
    "-m venv "*) echo venv >>"$machine/calls"
        mkdir -p "$3/bin"
        cp "$machine/bin/python3.12" "$3/bin/python"
        echo "#!$3/bin/python" >"$3/bin/pip" ;;
    *" pip --version") ;;
    *" pip "*) echo "pip $*" | sed 's/-m pip .*--no-input //' >>"$machine/calls"
        [ ! -e "$machine/no-network" ] ;;
    *) echo "Python 3.12.0" ;;
esac
"""
APT_GET = """\
#!/bin/sh
echo "apt-get $*" | sed 's/--quiet .*Timeout=300 //' >>{machine}/calls
rm -f {machine}/no-venv {machine}/no-postgres {machine}/no-browser
"""
INSTALLED = [
    "pip install --no-deps --require-hashes --only-binary :all: --requirement",
    "pip install --no-deps --no-build-isolation --editable .",
    "pip check",
]


def test_a_fresh_clone_gets_a_venv_and_its_packages(machine: "Machine") -> None:
    done = machine.setup("run")

    assert done.returncode == 0, done.stderr
    assert machine.calls() == ["venv", f"{INSTALLED[0]} requirements/run.txt", *INSTALLED[1:]]


def test_a_second_time_there_is_nothing_to_do(machine: "Machine") -> None:
    machine.setup("run")
    machine.calls()

    assert machine.setup("run").returncode == 0
    assert machine.calls() == []


def test_what_the_tests_need_contains_what_running_needs(machine: "Machine") -> None:
    machine.setup("dev")
    machine.calls()

    machine.setup("run")

    assert machine.calls() == []


@pytest.mark.parametrize(
    "changed", ["pyproject.toml", "requirements/run.txt", "hatch_build.py", "src/runlore/recall/kernel.c"]
)
def test_changed_requirements_are_installed_into_the_venv_there_is(machine: "Machine", changed: str) -> None:
    machine.setup("run")
    machine.calls()
    with (machine.project / changed).open("a") as file:
        file.write("more\n")

    machine.setup("run")

    assert machine.calls() == [f"{INSTALLED[0]} requirements/run.txt", *INSTALLED[1:]]


def test_a_set_up_that_was_broken_off_begins_anew(machine: "Machine") -> None:
    (machine.folder / "no-network").touch()
    assert machine.setup("run").returncode != 0
    (machine.folder / "no-network").unlink()
    machine.calls()

    assert machine.setup("run").returncode == 0
    assert machine.calls()[0] == "venv"


@pytest.mark.parametrize("damage", ["another Python", "no interpreter", "no pip", "moved"])
def test_a_venv_that_is_not_ours_or_not_whole_is_made_anew(machine: "Machine", damage: str) -> None:
    machine.setup("run")
    machine.calls()
    match damage:
        case "another Python":
            (machine.folder / "identity").write_text("3.13.0 elsewhere\n")
            (machine.project / ".venv/bin/python").write_text("#!/bin/sh\necho 3.12.0 here\n")
        case "no interpreter":
            (machine.project / ".venv/bin/python").unlink()
        case "no pip":
            (machine.project / ".venv/bin/pip").unlink()
        case "moved":
            machine.project = machine.project.rename(machine.folder / "elsewhere")

    assert machine.setup("run").returncode == 0
    assert machine.calls()[0] == "venv"


def test_a_python_that_is_too_old_is_refused_by_name(machine: "Machine") -> None:
    (machine.folder / "old").touch()

    done = machine.setup("run", PYTHON=str(machine.folder / "bin/python3.12"))

    assert done.returncode != 0
    assert "python3.12 is not a Python 3.11 or later" in done.stderr
    assert not (machine.project / ".venv").exists()


def test_packages_come_together_and_beside_the_requirements(machine: "Machine") -> None:
    for name in ("no-postgres", "no-browser"):
        (machine.folder / name).touch()
    machine.command("id", "echo 0")

    done = machine.setup("test")

    assert done.returncode == 0, done.stderr
    calls = machine.calls()
    assert [call for call in calls if call.startswith("apt-get")] == [
        "apt-get update",
        "apt-get install --yes --no-install-recommends postgresql chromium",
    ]
    assert [call for call in calls if call.startswith("pip")] == [
        f"{INSTALLED[0]} requirements/dev.txt",
        *INSTALLED[1:],
    ]


def test_agents_come_once_and_where_they_cannot_be_had_that_is_said(machine: "Machine") -> None:
    (machine.folder / "no-npm").touch()
    without = machine.setup("test")
    (machine.folder / "no-npm").unlink()

    again = [machine.setup("test") for _ in range(2)]

    assert (without.returncode, *(done.returncode for done in again)) == (0, 0, 0)
    assert "NO AGENTS" in without.stdout
    assert "NO AGENTS" not in again[0].stdout
    assert ("NO TYPESCRIPT" in without.stdout, "NO TYPESCRIPT" in again[0].stdout) == (True, False)
    called = [line.split()[1] for line in (machine.folder / "npm-calls").read_text().splitlines()]
    assert called == ["install", "ci"] * 2


def test_a_package_that_cannot_be_had_stops_the_set_up(machine: "Machine") -> None:
    (machine.folder / "no-postgres").touch()
    machine.command("id", "echo 0")
    machine.command("apt-get", "exit 1")

    done = machine.setup("test")

    assert done.returncode != 0
    assert "apt-get could not install postgresql" in done.stderr


@pytest.mark.parametrize(
    ("missing", "goal", "package"),
    [
        ("no-venv", "run", "python3.12-venv"),
        ("no-postgres", "test", "postgresql"),
        ("no-browser", "test", "chromium"),
    ],
)
def test_root_gets_what_only_root_can_install(
    machine: "Machine", missing: str, goal: str, package: str
) -> None:
    (machine.folder / missing).touch()
    machine.command("id", "echo 0")

    done = machine.setup(goal)

    assert done.returncode == 0, done.stderr
    calls = [call for call in machine.calls() if call.startswith("apt-get")]
    assert calls == ["apt-get update", f"apt-get install --yes --no-install-recommends {package}"]


@pytest.mark.parametrize(
    ("missing", "goal", "package"),
    [
        ("no-venv", "run", "python3.12-venv"),
        ("no-postgres", "test", "postgresql"),
        ("no-browser", "test", "chromium"),
    ],
)
def test_others_are_told_the_line_to_run(machine: "Machine", missing: str, goal: str, package: str) -> None:
    (machine.folder / missing).touch()
    machine.command("id", "echo 1000")

    done = machine.setup(goal)

    assert done.returncode != 0
    assert f"sudo apt-get update && sudo apt-get install --yes {package}\n" in done.stderr
    assert not any(call.startswith("apt-get") for call in machine.calls())


@pytest.mark.parametrize("missing", ["no-postgres", "no-browser"])
def test_running_needs_no_server_and_no_browser(machine: "Machine", missing: str) -> None:
    (machine.folder / missing).touch()
    machine.command("id", "echo 1000")

    assert machine.setup("run").returncode == 0


def test_the_long_rings_get_packages_of_their_own_once(machine: "Machine") -> None:
    machine.setup("test")
    machine.calls()

    assert machine.setup("soak").returncode == 0
    (called,) = machine.calls()
    assert called.endswith(".venv/soak --requirement requirements/soak.txt")
    assert machine.setup("soak").returncode == 0
    assert machine.calls() == []


def test_where_these_cannot_be_had_the_long_rings_go_on_and_it_is_said(machine: "Machine") -> None:
    machine.setup("test")
    (machine.folder / "no-network").touch()

    done = machine.setup("soak")

    assert done.returncode == 0
    assert "NO SOAK PACKAGES: requirements/soak.txt could not be installed" in done.stdout
    (machine.folder / "no-network").unlink()
    machine.calls()
    machine.setup("soak")
    assert len(machine.calls()) == 1, "it is tried again the next time"


def test_ci_runs_what_a_contributor_runs() -> None:
    lines = (ROOT / ".ci/run").read_text("utf-8").splitlines()

    assert [line for line in lines if "make" in line and not line.startswith("#")] == [
        "exec make test </dev/null"
    ]
    assert os.access(ROOT / ".ci/run", os.X_OK)


@pytest.mark.parametrize(
    "target", ["up", "test", "check", "bench", "soak", "docs", "format", "requirements", "clean"]
)
def test_make_knows_the_target(target: str) -> None:
    done = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@dataclass
class Machine:
    """A made-up machine with a clone on it: what is installed is a file in its folder."""

    folder: Path
    project: Path

    def command(self, name: str, body: str) -> None:
        """Put a program of this name first on PATH."""
        script = self.folder / "bin" / name
        script.write_text(body if body.startswith("#!") else f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)

    def setup(self, goal: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the real script."""
        return subprocess.run(
            [self.project / "scripts/setup.sh", goal],
            env={"PATH": f"{self.folder}/bin:{os.defpath}", "HOME": str(self.folder), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self) -> list[str]:
        """What was called since the last look."""
        log = self.folder / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """One with a Python 3.12, everything installable, and a fresh clone."""
    made = Machine(folder=tmp_path, project=tmp_path / "clone")
    (tmp_path / "bin").mkdir()
    (tmp_path / "identity").write_text("3.12.0 here\n")
    made.command("python3.12", PYTHON.format(machine=tmp_path))
    made.command("apt-get", APT_GET.format(machine=tmp_path))
    made.command("npm", f'echo "npm $*" >>{tmp_path}/npm-calls; [ ! -e {tmp_path}/no-npm ]')
    for name in ("python3.14", "python3.13"):
        made.command(name, "echo 'this version is not active' >&2; exit 127")
    pins = sorted(f"requirements/{path.name}" for path in (ROOT / "requirements").glob("*.txt"))
    client = [f"clients/typescript/package{end}.json" for end in ("", "-lock")]
    built = ("pyproject.toml", "hatch_build.py", "src/runlore/recall/kernel.c")
    for name in ("scripts/setup.sh", *built, *pins, *client):
        (made.project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, made.project / name)
    return made
