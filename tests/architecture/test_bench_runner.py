"""The benchmarks' runner and their figures, which decisions are made on."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bench.__main__ import EXIT_DATA_ABSENT, EXIT_UNKNOWN, benchmarks, main, run, title
from bench.measure import DataAbsent, Percentiles, cpu_percentiles, data_folder, print_table
from tests.architecture.source_tree import ROOT


def test_every_benchmark_can_be_named_and_says_what_it_measures() -> None:
    assert benchmarks()
    for name, module in benchmarks().items():
        assert name.isidentifier()
        assert title(module)


def test_the_list_of_benchmarks_names_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0

    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(benchmarks())


def test_an_unknown_benchmark_is_refused_with_the_names_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-thing"]) == EXIT_UNKNOWN

    assert "no benchmark is called no-such-thing; there are " in capsys.readouterr().err


def test_a_benchmark_without_its_data_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUNLORE_DATA", raising=False)
    reading = ModuleType("reading", "Reads what it needs.")
    reading.__dict__["main"] = lambda: data_folder("secrets")

    assert run("reading", reading) == EXIT_DATA_ABSENT

    assert "not run: RUNLORE_DATA does not name the folder" in capsys.readouterr().out


def test_a_data_set_that_is_not_in_the_folder_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("RUNLORE_DATA", str(tmp_path))

    assert data_folder("here") == tmp_path / "here"
    with pytest.raises(DataAbsent, match="there is no elsewhere"):
        data_folder("elsewhere")


def test_the_runner_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--list"], cwd=ROOT, capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_percentiles_are_measured_figures_by_nearest_rank() -> None:
    found = Percentiles.of(range(1_000_000, 101_000_000, 1_000_000))

    assert (found.count, found.p50_ms, found.p95_ms, found.p99_ms, found.max_ms) == (100, 50, 95, 99, 100)
    assert Percentiles.of([7_000_000]).p50_ms == 7


def test_every_input_is_measured_once_and_the_first_ones_warm_up() -> None:
    called: list[int] = []

    found = cpu_percentiles(called.append, range(20), warm_up=5)

    assert found.count == 20
    assert called == [*range(5), *range(20)]


def test_a_table_is_markdown_with_its_figures_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["records", "what"], [[1_000_000, "search"], [10, "start"]])

    assert capsys.readouterr().out.splitlines() == [
        "|   records | what   |",
        "| --------: | ------ |",
        "| 1,000,000 | search |",
        "|        10 | start  |",
    ]
