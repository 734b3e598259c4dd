"""What other memory systems hold, and what instruction files say: single sentences with where they stand.

Files are read and nothing is run. Which system wrote a file is told by its form; whoever knows better names
it. What is not understood is not guessed at.
"""

import os
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote

import apsw
import orjson
import yaml

from runlore.domain.errors import Invalid
from runlore.ports.foreign_memories import ForeignMemories, ForeignMemory

_BYTES_MAX = 256 * 1024**2
_TEXT_BYTES_MAX = 1024**2
_FILES_MAX = 20_000
_MEMORIES_MAX = 20_000
_INSTRUCTIONS = re.compile(
    r"(?i)(?:claude|claude\.local|agents|agents\.override|gemini|copilot-instructions)\.md|\.cursorrules|.+\.mdc"
)
_CONVERSATIONS = "conversations.json"
_OF_CLAUDE = ("memories.json", "projects.json")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
# `- [category] text #tag (context)`: what a note says; `- relation [[Note]]` links to another.
_OBSERVATION = re.compile(r"\s*[-*]\s+\[([^\]\[]{2,60})\]\s+(.+)")
_TAGS_BEHIND = re.compile(r"(?:\s+#[\w/-]+)+(?=\s*(?:\([^()]*\))?\s*$)")
_MARKUP = re.compile(r"\*\*|__|`(?=\S)|(?<=\S)`")
_Plain = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class _System:
    """One that others keep memory in: how it is known by its path, and how it is read."""

    reads: Callable[[str], Iterator[ForeignMemory]]
    looks_like: Callable[[str], bool]


def read_foreign_memories(path: str, system: str | None = None) -> ForeignMemories:
    """All that a file or folder holds, in the order in which it stands there, each sentence once."""
    if not os.path.exists(path):
        raise Invalid(
            f"there is nothing at {path}",
            code="import.path",
            hint="name a file or folder that another system wrote; docs/import.md says which",
        )
    known = system or next((name for name, each in SYSTEMS.items() if each.looks_like(path)), None)
    if known not in SYSTEMS:
        raise Invalid(
            f"{path} is of no system that can be imported from",
            code="import.unknown",
            hint=f"there are {', '.join(SYSTEMS)}; --from names one where the file does not tell",
        )
    kept: dict[str, ForeignMemory] = {}
    try:
        for memory in SYSTEMS[known].reads(path):
            if memory.text and len(kept) < _MEMORIES_MAX:
                kept.setdefault(memory.text, memory)
    except (OSError, ValueError, apsw.Error, zipfile.BadZipFile, RecursionError) as error:
        raise Invalid(
            f"{path} cannot be read as what {known} writes: {str(error)[:200]}",
            code="import.form",
            hint="see that the file is whole, or name another system with --from; nothing was proposed",
        ) from None
    return ForeignMemories(system=known, memories=tuple(kept.values()))


def _read_mem0(path: str) -> Iterator[ForeignMemory]:
    """What `get_all` answers, or an export: objects with `memory`, in a list, in `results` or by lines."""
    data = _read_bytes(path)
    try:
        document = orjson.loads(data)
    except ValueError:
        document = [orjson.loads(line) for line in data.splitlines() if line.strip()]
    told = _object(document)
    found = _list(document) or _list(told.get("results")) or _list(told.get("memories")) or [document]
    for item in map(_object, found):
        text = item.get("memory") or item.get("text") or item.get("data")
        yield _memory(text, item.get("id"), noted_at=item.get("updated_at") or item.get("created_at"))


def _read_basic_memory(path: str) -> Iterator[ForeignMemory]:
    """Notes in Markdown: their observations."""
    for file in _markdown_files(path):
        text = _read_text(file)
        note = _front_matter(text)
        title = str(note.get("title") or os.path.basename(file).removesuffix(".md"))
        for number, line in enumerate(text.splitlines(), 1):
            if (found := _OBSERVATION.fullmatch(line)) and found[1].strip().lower() not in ("x", " "):
                said = _TAGS_BEHIND.sub("", found[2])
                yield _memory(said, f"{note.get('permalink') or title}:{number}", place=title)


def _read_claude_mem(path: str) -> Iterator[ForeignMemory]:
    """The facts of its observations, each with the project that it was seen in."""
    file = os.path.join(path, "claude-mem.db") if os.path.isdir(path) else path
    address = f"file:{quote(os.path.abspath(file))}?mode=ro"
    connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        there = {
            str(row[0]) for row in connection.execute("SELECT name FROM pragma_table_info('observations')")
        }
        if not {"id", "project", "facts"} <= there:
            raise ValueError("it has no table of observations with facts")
        title, at = (
            ("title" if "title" in there else "NULL"),
            ("created_at" if "created_at" in there else "NULL"),
        )
        rows = connection.execute(f"SELECT id, project, facts, {title}, {at} FROM observations ORDER BY id")
        for id, project, facts, titled, noted_at in rows:
            try:
                said = _list(orjson.loads(str(facts or "[]")))
            except ValueError:
                said = [facts]
            for number, fact in enumerate(said):
                made = _memory(fact, f"{id}:{number}", place=titled, noted_at=noted_at)
                yield replace(made, project=str(project or ""))
    finally:
        connection.close(True)


def _read_chatgpt(path: str) -> Iterator[ForeignMemory]:
    """What its memory was told to keep (messages to `bio`), and the custom instructions."""
    for talk in map(_object, _list(orjson.loads(_member(path, _CONVERSATIONS)))):
        title = talk.get("title")
        for node in map(_object, _object(talk.get("mapping")).values()):
            message = _object(node.get("message"))
            content = _object(message.get("content"))
            if message.get("recipient") == "bio":
                for part in _list(content.get("parts")):
                    yield from _sentences(part, message.get("id"), place=title)
            elif content.get("content_type") == "user_editable_context":
                for name in ("user_profile", "user_instructions"):
                    yield from _sentences(
                        _strip_fences(content.get(name)), f"custom:{name}", place="custom instructions"
                    )


def _strip_fences(text: object) -> object:
    """The words between the fences that custom instructions are wrapped in, where they are."""
    found = re.search(r"```\s*(.*?)\s*```", text, re.S) if isinstance(text, str) else None
    return found[1] if found else text


def _read_claude(path: str) -> Iterator[ForeignMemory]:
    """What its memory says of all conversations and of each project, and the instructions of projects."""
    for name in _OF_CLAUDE:
        try:
            document = orjson.loads(_member(path, name))
        except KeyError:
            continue
        for item in map(_object, document if isinstance(document, list) else [document]):
            yield from _sentences(item.get("conversations_memory"), "memory", place="memory")
            for project, text in _object(item.get("project_memories")).items():
                yield from _sentences(text, f"project:{project}", place="memory of a project")
            yield from _sentences(item.get("prompt_template"), item.get("uuid"), place=item.get("name"))


def _read_instructions(path: str) -> Iterator[ForeignMemory]:
    """The items and sentences of instruction files, without their code."""
    for file in [path] if os.path.isfile(path) else sorted(_files(path, is_deep=False)):
        if os.path.isfile(path) or _INSTRUCTIONS.fullmatch(os.path.basename(file)):
            text = _read_text(file)
            yield from _sentences(_behind_front(text), os.path.basename(file))


def _sentences(text: object, id: object, *, place: object = None) -> Iterator[ForeignMemory]:
    """The items of lists and the paragraphs of a text in Markdown, in one line each; no code, no headings."""
    if not isinstance(text, str):
        return
    number, in_code, lines = 0, False, list[str]()
    for line in (*text.splitlines(), ""):
        stripped = line.strip()
        is_fence = stripped.startswith(("```", "~~~"))
        item = None if in_code or is_fence else _ITEM.fullmatch(line)
        ends = (
            is_fence
            or in_code
            or item
            or not stripped
            or stripped.startswith(("#", "|", "<", ">", "---", "==="))
        )
        if ends and lines:
            number += 1
            yield _memory(" ".join(lines), f"{id}:{number}", place=place)
            lines = []
        if item:
            lines = [item[1].strip()]
        elif not ends:
            lines.append(stripped)
        in_code ^= is_fence


def _memory(text: object, id: object, *, place: object = None, noted_at: object = None) -> ForeignMemory:
    plain = _MARKUP.sub("", text).strip() if isinstance(text, str) else ""
    said = " ".join(plain.split())
    # A line that only leads to what follows it says nothing by itself.
    return ForeignMemory(
        text="" if said.endswith(":") or len(said.split()) < 2 else said,
        id=str(id)[:200],
        place=str(place or "")[:200],
        noted_at=str(noted_at or "")[:40],
    )


def _behind_front(text: str) -> str:
    return text.split("\n---", 1)[1] if text.startswith("---\n") and "\n---" in text[3:] else text


def _front_matter(text: str) -> _Plain:
    if not text.startswith("---\n"):
        return {}
    try:
        return _object(yaml.load(text[4:].split("\n---", 1)[0][:8_000], Loader=yaml.CSafeLoader))
    except yaml.YAMLError:
        return {}


def _files(folder: str, *, is_deep: bool = True) -> Iterator[str]:
    count = 0
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if is_deep else []
        for name in sorted(names):
            count += 1
            if count > _FILES_MAX:
                raise ValueError(f"it has more than {_FILES_MAX} files")
            yield os.path.join(where, name)


def _markdown_files(path: str) -> Iterator[str]:
    return iter([path]) if os.path.isfile(path) else (each for each in _files(path) if each.endswith(".md"))


def _read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise ValueError(f"it is larger than {_BYTES_MAX} bytes")
    return data


def _read_text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_TEXT_BYTES_MAX)


def _member(path: str, name: str) -> bytes:
    """A file of an export: in its folder, in its archive, or the path itself. KeyError where it has none."""
    if os.path.isdir(path):
        if not os.path.isfile(place := os.path.join(path, name)):
            raise KeyError(name)
        return _read_bytes(place)
    if not zipfile.is_zipfile(path):
        if os.path.basename(path) != name and name in _OF_CLAUDE:
            raise KeyError(name)
        return _read_bytes(path)
    with zipfile.ZipFile(path) as archive:
        inside = next((each for each in archive.namelist() if each.rpartition("/")[2] == name), name)
        if archive.getinfo(inside).file_size > _BYTES_MAX:
            raise ValueError(f"{name} is larger than {_BYTES_MAX} bytes")
        return archive.read(inside)


def _has(path: str, *names: str) -> bool:
    try:
        return any(_member(path, name) is not None for name in names)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return False


def _is_chatgpt(path: str) -> bool:
    """Its conversations are trees; Claude's, under the same name, are lists."""
    try:
        return b'"mapping"' in _member(path, _CONVERSATIONS) and not path.endswith(_OF_CLAUDE)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return False


def _is_claude_mem(path: str) -> bool:
    return os.path.basename(path).endswith((".db", ".sqlite")) or os.path.isfile(
        os.path.join(path, "claude-mem.db")
    )


def _has_instructions(path: str) -> bool:
    names = [os.path.basename(path)] if os.path.isfile(path) else os.listdir(path)
    return any(_INSTRUCTIONS.fullmatch(name) for name in names)


def _is_mem0(path: str) -> bool:
    return os.path.isfile(path) and path.endswith((".json", ".jsonl", ".ndjson"))


def _has_notes(path: str) -> bool:
    return any(
        _OBSERVATION.search(_read_text(file))
        for _, file in zip(range(50), _markdown_files(path), strict=False)
    )


def _object(value: object) -> _Plain:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


# By name, in the order in which a path is tried.
SYSTEMS = {
    "claude-mem": _System(reads=_read_claude_mem, looks_like=_is_claude_mem),
    "chatgpt": _System(reads=_read_chatgpt, looks_like=_is_chatgpt),
    "claude": _System(reads=_read_claude, looks_like=lambda path: _has(path, *_OF_CLAUDE)),
    "instructions": _System(reads=_read_instructions, looks_like=_has_instructions),
    "mem0": _System(reads=_read_mem0, looks_like=_is_mem0),
    "basic-memory": _System(reads=_read_basic_memory, looks_like=_has_notes),
}
