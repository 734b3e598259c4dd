"""Runlore without its extras: what the package asks for is enough for everything that needs no model."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.architecture.source_tree import PACKAGE

pytestmark = pytest.mark.req("INT-8", "SUR-6")

SOURCES = Path(__file__).parents[2] / "src"
EVERY_MODULE = """
import importlib, pkgutil, runlore
for module in pkgutil.walk_packages(runlore.__path__, "runlore."):
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        print(module.name, error.name)
"""


def needed(wanted: Requirement, found: set[str]) -> set[str]:
    """The distributions that one needs on this machine, itself included, with the extras that are named."""
    found.add(name := re.sub(r"[-_.]+", "-", wanted.name).lower())
    for each in map(Requirement, distribution(name).requires or ()):
        used = any(
            each.marker is None or each.marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)
        )
        if used and (each.name.lower() not in found or each.extras):
            needed(each, found)
    return found


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which nothing can be imported but Runlore and what it needs."""
    folder = tmp_path_factory.mktemp("lean")
    for name in needed(Requirement("runlore"), set()) - {"runlore"}:
        for file in distribution(name).files or ():
            top, here = file.parts[0], Path(str(distribution(name).locate_file("")))
            if top != ".." and not (folder / top).exists():
                (folder / top).symlink_to(here / top)
    home = tmp_path_factory.mktemp("home")
    kept = {"PATH": os.environ["PATH"], "HOME": str(home), "RUNLORE_HOME": str(home / "runlore")}
    return {**kept, "PYTHONPATH": f"{SOURCES}{os.pathsep}{folder}", "COLUMNS": "80"}


def run(lean: dict[str, str], *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    # Without its site-packages; the path above is all there is.
    return subprocess.run(
        [sys.executable, "-S", *arguments], env={**lean, **more}, capture_output=True, text=True, check=False
    )


def test_only_what_asks_models_or_a_server_needs_an_extra(lean: dict[str, str]) -> None:
    done = run(lean, "-c", EVERY_MODULE)
    assert done.returncode == 0, done.stderr
    missing = dict(line.split() for line in done.stdout.splitlines())
    # Who has a graph of LangGraph has LangGraph.
    assert missing.pop("runlore.client.langgraph_store") == "langgraph"
    assert set(missing.values()) <= {"pydantic_ai", "openai", "anthropic", "psycopg", "psycopg_pool"}
    assert missing["runlore.models.chat"] == "pydantic_ai"
    homes = {module.rpartition(".")[0].removeprefix("runlore.").split(".")[0] for module in missing}
    assert homes <= {"models", "storage"}, f"{PACKAGE}: {missing}"


def test_a_person_needs_no_extra_and_is_told_where_one_is_missing(lean: dict[str, str]) -> None:
    for words in (
        ["remember", "We deploy on Fridays", "--yes"],
        ["search", "deploy", "--json"],
        ["skill", "list"],
        ["learn", "--dry-run"],
        ["status"],
        ["doctor"],
    ):
        done = run(lean, "-m", "runlore", *words)
        assert done.returncode == 0, (words, done.stderr)
        if words[0] == "search":
            assert json.loads(done.stdout)["items"]
    asked = {"RUNLORE_MODEL": "openai:gpt-5", "OPENAI_API_KEY": "not-a-key"}
    done = run(lean, "-m", "runlore", "run", "say hello", "--json", **asked)
    assert done.returncode == 3
    assert json.loads(done.stderr)["code"] == "model.libraries"
