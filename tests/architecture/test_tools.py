"""The tests' own tools: tables walked in one case, programs that are forked, a sample on PostgreSQL."""

import os
from pathlib import Path

import pytest

from tests import both_databases, forked
from tests.architecture.source_tree import ROOT

TABLES = """
import pytest

@pytest.mark.parametrize("sign", [1, pytest.param(-1, id="minus")])
@pytest.mark.parametrize(("number", "is_small"), [(2, True), (30, False), (4, False)])
def test_of_a_table(number: int, is_small: bool, sign: int) -> None:
    assert (number * sign < 10) is is_small

@pytest.mark.parametrize("error", [ValueError, KeyError])
def test_that_something_is_raised(error: type[Exception]) -> None:
    with pytest.raises(ValueError):
        raise error if error is ValueError else TypeError

@pytest.mark.parametrize("name", ["one", "two"])
def test_with_a_fixture(name: str, tmp_path) -> None:
    (tmp_path / name).mkdir()

@pytest.mark.parametrize("name", ["one", pytest.param("two", marks=pytest.mark.usual)])
def test_with_a_mark(name: str) -> None:
    assert name
"""

ON_BOTH = """
import pytest

@pytest.fixture(params=["sqlite", "postgres"])
def engine(request) -> str:
    return request.param

def test_one(engine: str) -> None:
    assert engine

@pytest.mark.parametrize("number", [1, 2])
def test_another(engine: str, number: int) -> None:
    assert engine
"""
SETTINGS = "[pytest]\nmarkers = usual\n"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A file of tests, for a pytest of its own."""
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    (tmp_path / "test_tables.py").write_text(TABLES)
    return tmp_path


def test_a_table_is_one_case_that_names_every_row_that_fails(tables: Path) -> None:
    told = _pytest(tables)

    assert "2 failed, 4 passed" in told.splitlines()[-1], told
    assert "rows that fail: 3, " in told
    assert "[30, False | minus] AssertionError" in told
    assert "[4, False | 1] AssertionError" in told
    assert "rows that fail: 1, " in told
    assert "[<class 'KeyError'>] TypeError" in told


def test_each_row_can_be_a_case(tables: Path) -> None:
    assert "4 failed, 8 passed" in _pytest(tables, "--each-row").splitlines()[-1]


def test_a_forked_program_reads_writes_and_ends_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "good").write_text('{"a": 1}')
    (tmp_path / "bad").write_text("{")

    with (tmp_path / "good").open() as good, (tmp_path / "bad").open() as bad:
        whole = forked.run("json.tool", "--compact", stdin=good.fileno())
        broken = forked.run("json.tool", stdin=bad.fileno(), env={**os.environ, "COLUMNS": "80"})

    assert (whole.returncode, whole.stdout, whole.stderr) == (0, '{"a":1}\n', "")
    assert (broken.returncode, broken.stdout) == (1, "")
    assert broken.stderr


def test_of_each_module_one_test_runs_on_postgres_and_of_those_about_the_database_all(tmp_path: Path) -> None:
    for module in (
        "flow/test_notes.py",
        "flow/test_at_once.py",
        "storage/test_jobs.py",
        "storage/postgres/test_locks.py",
    ):
        (tmp_path / "tests" / module).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / module).write_text(ON_BOTH, "utf-8")
    options = ("-p", "tests.both_databases", "--rootdir", str(tmp_path), "--import-mode=importlib")

    # Of three cases on PostgreSQL two are left out in the first module, and the second row in the next two.
    assert "20 passed, 4 deselected" in _pytest(tmp_path, *options, "-m", "not soak")
    assert "4 passed, 20 deselected" in _pytest(tmp_path, *options, "-m", "soak")


def test_only_modules_that_exist_are_run_on_both_databases() -> None:
    assert [module for module in both_databases.WHOLE if not (ROOT / module).is_file()] == []


def _pytest(folder: Path, *options: str) -> str:
    plugins = ("-p", "tests.table_rows", "-p", "no:cacheprovider", "-p", "no:schemathesis")
    return forked.run("pytest", "-q", "-rN", *plugins, *options, str(folder)).stdout
