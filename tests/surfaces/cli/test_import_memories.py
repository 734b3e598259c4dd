"""What other memory systems hold, brought along: as candidates, with where they come from, never twice."""

import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("INT-10")

SECRET = "ghp_" + "x8Kq2LmV9rTz4WbN7cYd1FgH6sJp3QaE5uRi"


def write_mem0(folder: Path) -> Path:
    path = folder / "mem0.json"
    item = {"id": "m1", "memory": "Prefers morning meetings", "created_at": "2026-03-01T10:00:00Z"}
    path.write_text(json.dumps({"results": [item, {**item, "id": "m2"}, {"id": "m3"}]}), "utf-8")
    return path


def write_mem0_lines(folder: Path) -> Path:
    path = folder / "mem0.jsonl"
    path.write_text('{"id": "m1", "memory": "Prefers morning meetings"}\n', "utf-8")
    return path


def write_basic_memory(folder: Path) -> Path:
    notes = folder / "notes"
    notes.mkdir()
    (notes / "Meetings.md").write_text(
        "---\ntitle: Meetings\npermalink: team/meetings\n---\n# Meetings\n\n## Observations\n"
        "- [preference] Prefers morning meetings #team #time (said in May)\n- [ ] a task to do\n"
        "\n## Relations\n- relates_to [[Calendar]]\n",
        "utf-8",
    )
    return notes


def write_claude_mem(folder: Path) -> Path:
    path = folder / "claude-mem.db"
    connection = apsw.Connection(str(path))
    connection.execute(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT,"
        " title TEXT, narrative TEXT, facts TEXT, concepts TEXT, created_at TEXT)"
    )
    rows = [("here", '["Prefers morning meetings"]'), ("elsewhere", '["Uses port 5433"]'), ("here", "{")]
    for project, facts in rows:
        connection.execute(
            "INSERT INTO observations (project, title, facts, created_at) VALUES (?, 'Days', ?, '2026-05')",
            (project, facts),
        )
    connection.close()
    return path


def write_chatgpt(folder: Path) -> Path:
    def message(text: str, **more: object) -> object:
        return {"message": {"id": "a", "content": {"content_type": "text", "parts": [text]}, **more}}

    own = {"content": {"content_type": "user_editable_context", "user_profile": "```Lives in Bern```"}}
    mapping = {
        "1": message("Prefers morning meetings", recipient="bio"),
        "2": message("You could meet in the afternoon", recipient="all"),
        "3": {"message": own},
        "4": {"message": None},
    }
    path = folder / "chatgpt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("export/conversations.json", json.dumps([{"title": "Days", "mapping": mapping}]))
    return path


def write_claude(folder: Path) -> Path:
    export = folder / "export"
    export.mkdir()
    memory = "**Work context**\n\nPrefers morning meetings\n"
    (export / "memories.json").write_text(json.dumps([{"conversations_memory": memory}]), "utf-8")
    (export / "conversations.json").write_text(json.dumps([{"chat_messages": []}]), "utf-8")
    return export


def write_instructions(folder: Path) -> Path:
    path = folder / "AGENTS.md"
    path.write_text(
        "# Rules\n\nAsk about:\n\n- Prefers **morning** meetings\n\n```sh\nmake all this\n```\n| a | b |\n",
        "utf-8",
    )
    return path


WRITERS = {
    "mem0": write_mem0,
    "mem0 by lines": write_mem0_lines,
    "basic-memory": write_basic_memory,
    "claude-mem": write_claude_mem,
    "chatgpt": write_chatgpt,
    "claude": write_claude,
    "instructions": write_instructions,
}
FROM_EACH = pytest.mark.parametrize("name", WRITERS)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    monkeypatch.chdir(folder)
    return folder


@FROM_EACH
def test_each_sentence_waits_once_with_where_it_comes_from(name: str, here: Path, embedded: Runlore) -> None:
    write: Callable[[Path], Path] = WRITERS[name]
    path = str(write(here))

    seen = embedded.json("import", path, "--dry-run")
    assert embedded.json("inbox")["items"] == []
    first, second = (embedded.json("import", path, "--yes") for _ in range(2))
    waiting = embedded.json("inbox")["items"]

    assert seen["system"] == first["system"] == name.removesuffix(" by lines")
    assert [each["content"] for each in seen["items"]] == [each["content"] for each in first["items"]]
    assert any(each["title"].startswith("Prefers morning meetings") for each in waiting)
    assert len(waiting) == len(first["items"]) == len(second["items"])
    assert all(first["system"] in each["why"] for each in waiting)
    texts = " ".join(each["content"] for each in first["items"])
    for not_said in ("task", "afternoon", "5433", "make all", "Ask about", "Relations", "#team"):
        assert not_said not in texts
    assert embedded.items("learning", "list") == []


@FROM_EACH
def test_what_is_cut_short_or_hostile_proposes_nothing_or_is_told(
    name: str, here: Path, embedded: Runlore
) -> None:
    path = WRITERS[name](here)
    whole = path if path.is_file() else next(each for each in sorted(path.rglob("*")) if each.is_file())
    data = whole.read_bytes()
    for number in range(0, len(data), max(1, len(data) // 7)):
        whole.write_bytes(data[:number] + b"\x00\xff\xfe")
        done = embedded.run(
            "import", str(path), "--json", "--dry-run", "--from", name.removesuffix(" by lines")
        )
        assert done.code in (0, 2)
        if done.code:
            assert json.loads(done.err)["code"] == "import.form"


def test_a_secret_is_left_out_and_not_repeated(here: Path, embedded: Runlore) -> None:
    path = here / "CLAUDE.md"
    path.write_text(f"- Use the token {SECRET} for pushes\n- Never push to main\n", "utf-8")
    subprocess.run(["git", "remote", "add", "origin", "https://example.com/team/here.git"], check=True)

    answer = embedded.json("import", str(path), "--yes")

    assert answer["proposed"] == 1
    assert list(answer["left_out"]) == ["refused: guard.secret"]
    [waiting] = embedded.json("inbox")["items"]
    assert waiting["title"] == "Never push to main"
    assert [each["content"] for each in answer["items"]] == ["Never push to main"]
    assert "here" in answer["items"][0]["scope"]


def test_a_path_that_says_nothing_is_refused_with_what_there_is(here: Path, embedded: Runlore) -> None:
    (here / "photo.png").write_bytes(os.urandom(64))
    for path, code in (("nothing.json", "import.path"), ("photo.png", "import.unknown")):
        failure = embedded.run("import", path, "--json")
        assert (failure.code, json.loads(failure.err)["code"]) == (2, code)
