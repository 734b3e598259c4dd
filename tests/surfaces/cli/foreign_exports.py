"""Exports of other memory systems, written by their documented forms, and what each of them says.

Each sample says "Prefers morning meetings", and holds much that is no memory.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import apsw

SAID = "Prefers morning meetings"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One export: what it is of, how it is written, and its sentences in order."""

    system: str
    write: Callable[[Path], Path]
    says: tuple[str, ...] = (SAID,)


def zipped(**files: object) -> bytes:
    """An archive; `__` in a name stands for a slash, `_000` for a part's number."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()
            archive.writestr(name.replace("__", "/").replace("_000", "-000"), data)
    return packed.getvalue()


def write_mem0(folder: Path) -> Path:
    """`get_all()` of the library."""
    path = folder / "mem0.json"
    item = {
        "id": "bb5a1f0e-0001",
        "memory": SAID,
        "hash": "f0b1",
        "metadata": {"category": "habits"},
        "score": None,
        "created_at": "2026-03-01T10:00:00Z",
        "updated_at": None,
        "user_id": "ada",
    }
    found = [item, {**item, "id": "bb5a1f0e-0002"}, {"id": "bb5a1f0e-0003"}]
    path.write_text(
        json.dumps({"results": found, "relations": [{"source": "ada", "target": "tea"}]}), "utf-8"
    )
    return path


def write_mem0_lines(folder: Path) -> Path:
    path = folder / "mem0.jsonl"
    path.write_text('\ufeff{"id": "m1", "memory": "Prefers morning meetings"}\n', "utf-8")
    return path


def write_mem0_list(folder: Path) -> Path:
    """What the platform answers."""
    path = folder / "answer.json"
    items = [{"id": "m1", "memory": SAID, "user_id": "ada", "categories": ["habits"], "agent_id": None}]
    path.write_text(json.dumps({"count": 1, "next": None, "previous": None, "results": items}), "utf-8")
    return path


def write_openmemory(folder: Path) -> Path:
    """The backup of mem0's own server."""
    active = {"id": "o1", "content": SAID, "state": "active", "created_at": "2026-03-01T10:00:00+00:00"}
    deleted = {**active, "id": "o2", "content": "Lives on the moon", "state": "deleted"}
    apps = [{"id": "a1", "name": "cursor", "description": "An editor with agents"}]
    lines = gzip.compress("".join(f"{json.dumps(each)}\n" for each in (active, deleted)).encode())
    whole = {"user": {"name": "Ada"}, "apps": apps, "memories": [active, deleted], "status_history": []}
    path = folder / "memories_export_ada.zip"
    path.write_bytes(zipped(**{"memories.json": whole, "memories.jsonl.gz": lines}))
    return path


def write_basic_memory(folder: Path) -> Path:
    notes = folder / "notes" / "team"
    notes.mkdir(parents=True)
    (notes / "Meetings.md").write_text(
        "---\ntitle: Meetings\ntype: note\ntags: [team, time]\npermalink: team/meetings\n---\n# Meetings\n\n"
        "A paragraph about meetings.\n\n## Observations\n"
        "- [preference] Prefers morning meetings #team #time (said in May)\n"
        "* [decision] Minutes are kept in **Notion** #team\n"
        "+ [q] Who takes them is asked in the morning\n1. [two words] Ada takes them first\n"
        "- The room is booked for all #rooms (until June)\n- a plain item\n"
        "- [ ] a task to do\n- [x] a task that is done\n- [-] a task given up\n"
        "- [the calendar](https://example.org/calendar) has them all\n- [[Calendar]] has them all\n"
        "```\n- [example] an observation looks like this\n```\n"
        "\n## Relations\n- relates_to [[Calendar]]\n- [[Calendar]] (inline)\n",
        "utf-8",
    )
    return folder / "notes"


def write_claude_mem(folder: Path) -> Path:
    """Its database as its daemon leaves it: with a log beside, which holds the newest."""
    path = folder / "claude-mem.db"
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,"
        " project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT,"
        " narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER,"
        " content_hash TEXT, merged_into_project TEXT, created_at TEXT NOT NULL,"
        " created_at_epoch INTEGER NOT NULL)"
    )
    connection.execute(
        "CREATE TABLE directives (id INTEGER PRIMARY KEY, scope TEXT NOT NULL DEFAULT 'global', project TEXT,"
        " content TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active', created_at TEXT NOT NULL)"
    )
    rows = (
        ("here", json.dumps([SAID, ""]), None),
        ("elsewhere", '["Uses port 5433"]', None),
        ("here/a-worktree", '["Deploys on Fridays"]', "here"),
        ("here", "{", None),
        ("here", None, None),
    )
    for project, facts, merged in rows:
        connection.execute(
            "INSERT INTO observations (memory_session_id, project, type, title, narrative, facts,"
            " merged_into_project, created_at, created_at_epoch)"
            " VALUES ('s1', ?, 'discovery', 'Days', 'A long story.', ?, ?, '2026-05-01T10:00:00.000Z', 1)",
            (project, facts, merged),
        )
    directives = (("global", None, "active"), ("project", "elsewhere", "active"), ("global", None, "retired"))
    for number, row in enumerate(directives):
        connection.execute(
            "INSERT INTO directives (scope, project, status, content, created_at)"
            " VALUES (?, ?, ?, ?, '2026-05')",
            (*row, f"Answer in directive style {number}"),
        )
    (folder / "as-it-runs").mkdir()
    # The connection stays open, so that closing it does not empty the log.
    for name in ("claude-mem.db", "claude-mem.db-wal"):
        (folder / "as-it-runs" / name).write_bytes((folder / name).read_bytes())
    connection.close()
    path.unlink()
    return folder / "as-it-runs" / "claude-mem.db"


def conversation(*messages: Mapping[str, object]) -> dict[str, object]:
    """One of ChatGPT's: a tree of messages, whose root holds none."""
    mapping: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
    for number, message in enumerate(messages):
        id = f"n{number}"
        whole = {"id": id, "create_time": 1729951872.1, "status": "finished_successfully", "weight": 1.0}
        whole |= {"recipient": "all", "channel": None, "author": {"role": "assistant", "name": None}}
        mapping[id] = {"id": id, "message": whole | dict(message), "parent": "root", "children": []}
    return {
        "title": "Days",
        "create_time": 1729951800.0,
        "mapping": mapping,
        "current_node": "n0",
        "id": "c1",
    }


def text(said: str, **more: object) -> dict[str, object]:
    return {"content": {"content_type": "text", "parts": [said]}, **more}


UPDATED = text("Model set context updated.", author={"role": "tool", "name": "bio"})
PROFILE = {
    "content_type": "user_editable_context",
    "user_profile": "The user provided the following information about themselves. This is shown to you"
    " in all conversations they have.\nUser profile:\n```Preferred name: Ada\n\nLives in Bern```",
    "user_instructions": "The user provided the additional info about how they would like you to respond:\n"
    "```Get right to the point.```",
}


def write_chatgpt(folder: Path) -> Path:
    """An archive of one file of conversations, in a folder of its own."""
    code = {"content_type": "code", "language": "unknown", "text": "Works at a library"}
    talk = conversation(
        text("When should we meet?", author={"role": "user"}),
        text(SAID, recipient="bio"),
        UPDATED,
        {"content": code, "recipient": "bio"},
        text("You could meet in the afternoon"),
        {"content": PROFILE, "author": {"role": "user"}},
        {
            "content": {
                "content_type": "multimodal_text",
                "parts": [{"asset_pointer": "file-service://x"}, "Look"],
            }
        },
    )
    path = folder / "chatgpt.zip"
    path.write_bytes(
        zipped(export__user={}, **{"export/conversations.json": [talk], "export/chat.html": b"<html>"})
    )
    return path


def write_chatgpt_parts(folder: Path) -> Path:
    """A large export, unpacked: its conversations are in numbered files."""
    export = folder / "export"
    export.mkdir()
    held = (
        "# Model Set Context\n\n1. [2026-01-15]. Prefers morning meetings\n\n2. [2026-02-01]. Has two cats\n"
    )
    context = {"content_type": "model_editable_context", "model_set_context": held, "repository": None}
    parts = (
        [conversation(text("Hello there"))],
        [conversation({"content": context}), conversation({"content": PROFILE})],
    )
    for number, part in enumerate(parts):
        (export / f"conversations-{number:03}.json").write_text(json.dumps(part), "utf-8")
    (export / "export_manifest.json").write_text('{"files": [{"path": "conversations-000.json"}]}', "utf-8")
    (export / "user.json").write_text('{"email": "ada@example.org"}', "utf-8")
    return export


MEMORY = "**Work context**\n\nPrefers morning meetings\n\n**Top of mind**\n\nAda moves house in May.\n"
TALK = {"uuid": "c1", "name": "Tea", "chat_messages": [{"sender": "human", "text": "Which tea is best?"}]}


def write_claude(folder: Path) -> Path:
    """An unpacked export of one archive."""
    export = folder / "export"
    export.mkdir()
    project = {
        "uuid": "p1",
        "name": "Garden",
        "description": "",
        "docs": [],
        "prompt_template": "Name plants in Latin.",
    }
    held = {
        "conversations_memory": MEMORY,
        "project_memories": {"p1": "The beds face south."},
        "account_uuid": "a",
    }
    for name, content in (
        ("memories", [held]),
        ("projects", [project]),
        ("conversations", [TALK]),
        ("users", [{}]),
    ):
        (export / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return export


def write_claude_archives(folder: Path) -> Path:
    """An export by category: an archive for each, as they are downloaded into one folder."""
    export = folder / "downloads"
    export.mkdir()
    notes = "- [stated] Prefers morning meetings\n- [inferred] Works in UTC+1\n"
    held = {
        "conversations_memory": "",
        "project_memories": {"p1": "The beds face south."},
        "memory_files": [{"path": "/preferences.md", "content": notes, "updated_at": "2026-01-02T03:04:05Z"}],
        "account_uuid": "a",
    }
    project = {"uuid": "p1", "name": "Garden", "prompt_template": "Name plants in Latin."}
    (export / "memories-000.zip").write_bytes(zipped(**{"memories/a.json": held}))
    (export / "projects-000.zip").write_bytes(zipped(**{"projects/p1.json": project}))
    (export / "conversations-000.zip").write_bytes(zipped(**{"conversations.json": [TALK]}))
    return export


def write_instructions(folder: Path) -> Path:
    path = folder / "AGENTS.md"
    path.write_text(
        '# Rules\n\nAsk about "mapping":\n\n- Prefers **morning** meetings\n\n```sh\nmake all this\n```\n'
        "| a | b |\n<!-- For people:\nnobody reads this line\n-->\n"
        "1. Tests come\n   with the change.\n@docs/more.md\n",
        "utf-8",
    )
    return path


def write_cursor(folder: Path) -> Path:
    """A repository with what several agents are told."""
    top = folder / "repository"
    texts = {
        ".cursorrules": "Prefers morning meetings\n",
        ".cursor/rules/tests.mdc": "---\ndescription: tests\nglobs: *.py\n---\n- Tests use pytest\n",
        ".github/copilot-instructions.md": "Commits are small.\n",
        "README.md": "Nobody is instructed here.\n",
        "data/memories.json": '{"conversations_memory": "Not an export."}',
    }
    for name, said in texts.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(said, "utf-8")
    return top


SAMPLES = {
    "mem0": Sample(system="mem0", write=write_mem0),
    "mem0 by lines": Sample(system="mem0", write=write_mem0_lines),
    "mem0 of the platform": Sample(system="mem0", write=write_mem0_list),
    "mem0 of its server": Sample(system="mem0", write=write_openmemory),
    "basic-memory": Sample(
        system="basic-memory",
        write=write_basic_memory,
        says=(
            f"{SAID} (said in May)",
            "Minutes are kept in Notion",
            "Who takes them is asked in the morning",
            "Ada takes them first",
            "The room is booked for all (until June)",
        ),
    ),
    "claude-mem": Sample(
        system="claude-mem",
        write=write_claude_mem,
        says=(SAID, "Deploys on Fridays", "Answer in directive style 0"),
    ),
    "chatgpt": Sample(
        system="chatgpt",
        write=write_chatgpt,
        says=(SAID, "Works at a library", "Preferred name: Ada", "Lives in Bern", "Get right to the point."),
    ),
    "chatgpt in parts": Sample(
        system="chatgpt",
        write=write_chatgpt_parts,
        says=(SAID, "Has two cats", "Preferred name: Ada", "Lives in Bern", "Get right to the point."),
    ),
    "claude": Sample(
        system="claude",
        write=write_claude,
        says=(SAID, "Ada moves house in May.", "The beds face south.", "Name plants in Latin."),
    ),
    "claude by category": Sample(
        system="claude",
        write=write_claude_archives,
        says=(SAID, "Works in UTC+1", "The beds face south.", "Name plants in Latin."),
    ),
    "instructions": Sample(
        system="instructions", write=write_instructions, says=(SAID, "Tests come with the change.")
    ),
    "instructions of a repository": Sample(
        system="instructions", write=write_cursor, says=(SAID, "Tests use pytest", "Commits are small.")
    ),
}
