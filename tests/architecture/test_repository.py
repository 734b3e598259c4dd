"""What the files of the project may not hold, and what has to be up to date among them."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.requirements_page import PAGE, page
from tests.architecture.source_tree import ROOT, project_files

REQUIREMENT_FILES = sorted((ROOT / "requirements").glob("*.txt"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
# The areas of the requirements, and how many each has: a mark that names no requirement proves nothing.
AREAS = {
    "REC": 10,
    "SCO": 5,
    "LAY": 7,
    "RET": 11,
    "JRN": 6,
    "RUN": 11,
    "LRN": 15,
    "CAP": 11,
    "POL": 13,
    "PRJ": 7,
    "SKL": 20,
    "TNT": 7,
    "ROL": 13,
    "AGT": 6,
    "SUR": 12,
    "INT": 10,
    "OPS": 10,
    "VAL": 5,
    "SEC": 7,
    "CON": 8,
    "PRF": 6,
    "SCL": 5,
}
REQUIREMENTS = {f"{area}-{number}" for area, most in AREAS.items() for number in range(1, most + 1)}
# Written in halves, so that this file does not find itself.
PACKAGE_HOSTS = re.compile(
    "|".join(
        rf"\b{re.escape(name + domain)}\b"
        for name, domain in [
            ("pypi", ".org"),
            ("files.python", "hosted.org"),
            ("registry.npm", "js.org"),
            ("registry.yarn", "pkg.com"),
            ("deb.deb", "ian.org"),
            ("security.deb", "ian.org"),
            ("archive.ubu", "ntu.com"),
            ("static.cra", "tes.io"),
        ]
    )
)
# A made-up home in a test belongs to somebody whose name has one letter.
MACHINE_PATHS = re.compile(r"(?<![\w.~$}-])/(?:(?:work|root)/\w|(?:home|Users)/\w{2,}/)")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (PACKAGE_HOSTS, "packages are named, never the hosts they come from"),
        (MACHINE_PATHS, "nothing here knows the machine it was written on"),
    ],
    ids=["package hosts", "machine paths"],
)
def test_no_file_of_the_project_holds(pattern: re.Pattern[str], why: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in project_files()
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), start=1)
        if pattern.search(line)
    ]

    assert not found, why


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (PACKAGE_HOSTS, "--index-url https://py" + "pi.org/simple"),
        (PACKAGE_HOSTS, "from deb.deb" + "ian.org"),
        (MACHINE_PATHS, "open('/ho" + "me/somebody/file')"),
        (MACHINE_PATHS, "cd /wo" + "rk/main"),
    ],
)
def test_the_patterns_find_what_they_are_for(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {link}"
        for path in project_files()
        if path.suffix == ".md"
        for link in LINK.findall(path.read_text("utf-8"))
        if not link.startswith(("#", "http://", "https://"))
        and not (path.parent / link.partition("#")[0]).exists()
    ]

    assert not broken


@pytest.mark.parametrize("path", REQUIREMENT_FILES, ids=lambda path: path.name)
def test_requirement_files_pin_names_to_versions_and_hold_no_address(path: Path) -> None:
    for line in pins_of(path):
        pin, *hashes = line.split(" --hash=")
        requirement = Requirement(pin)

        assert requirement.url is None, line
        assert hashes, line
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each.strip()) for each in hashes), line
        assert [specifier.operator for specifier in requirement.specifier] == ["=="], line


def test_the_pins_are_what_the_project_asks_for() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = settings["project"]["optional-dependencies"]
    groups = settings["dependency-groups"]
    wanted = {
        "run.txt": [*settings["project"]["dependencies"], *groups["build"]],
        "dev.txt": [
            *settings["project"]["dependencies"],
            *groups["build"],
            *groups["dev"],
            *chain.from_iterable(extras.values()),
        ],
    }

    # Packages that are read and run apart from ours, by the long rings alone.
    assert {path.name for path in REQUIREMENT_FILES} == {*wanted, "soak.txt"}
    for name, requirements in wanted.items():
        pins = pinned(ROOT / "requirements" / name)
        for requirement in map(Requirement, requirements):
            if requirement.name != settings["project"]["name"]:
                versions = pins.get(canonicalize_name(requirement.name), [])
                assert versions, f"{requirement.name} is not pinned in {name}; run: make requirements"
                assert all(map(requirement.specifier.contains, versions)), (
                    f"{requirement} is not what {name} pins"
                )


def test_what_runs_is_what_is_tested() -> None:
    run, dev = (pinned(ROOT / "requirements" / name) for name in ("run.txt", "dev.txt"))

    assert {name: dev.get(name) for name in run} == run


def test_requirements_are_named_by_their_ids() -> None:
    # The page has all of them: the next test compares it with the marks.
    named = {row.split()[1] for row in PAGE.read_text("utf-8").splitlines() if row.startswith("| ")}

    assert named - REQUIREMENTS == {"requirement", "---"}


def test_the_page_of_requirements_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(ROOT / "tests"), "run: make docs"


def test_the_page_of_requirements_lists_every_way_to_name_one(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "pytestmark = [pytest.mark.req('REC-10')]\n"
        "@pytest.mark.req('REC-2', 'LAY-1')\n"
        "def test_one(): ...\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.req('REC-2'))])\n"
        "def test_two(x): ...\n"
        "@pytest.mark.req('REC-3')\n"
        "class TestThree:\n"
        "    @pytest.mark.req('REC-4')\n"
        "    def test_four(self): ...\n"
    )

    assert page(tmp_path).splitlines()[-6:] == [
        "| --- | --- |",
        "| LAY-1 | `test_a.py::test_one` |",
        "| REC-2 | `test_a.py::test_one`<br>`test_a.py::test_two` |",
        "| REC-3 | `test_a.py::TestThree` |",
        "| REC-4 | `test_a.py::TestThree::test_four` |",
        "| REC-10 | `test_a.py` |",
    ]


def pins_of(path: Path) -> list[str]:
    """A line for each package, with the hashes of its files."""
    return re.sub(r" \\\n\s*", " ", path.read_text("utf-8")).splitlines()


def pinned(path: Path) -> dict[str, list[str]]:
    """The versions that a file pins each name to: more than one where platforms differ."""
    pins: dict[str, list[str]] = {}
    for requirement in (Requirement(line.partition(" --hash=")[0]) for line in pins_of(path)):
        pins.setdefault(canonicalize_name(requirement.name), []).extend(
            specifier.version for specifier in requirement.specifier
        )
    return pins


def test_every_test_that_the_page_on_security_names_exists() -> None:
    named = re.findall(
        r"`(?:tests/)?((?:\w+/)+test_\w+\.py)(?:::(\w+))?`", (ROOT / "docs/security.md").read_text()
    )

    assert len(named) > 30
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / "tests" / file).is_file() or name not in (ROOT / "tests" / file).read_text()
    ]
    assert not missing
