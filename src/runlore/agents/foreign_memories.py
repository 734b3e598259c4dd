"""What other memory systems hold, and what instruction files say: single sentences with where they stand.

Files are read and nothing is run. Which system wrote a file is told by its form; whoever knows better names
it. What is not understood is not guessed at.
"""

import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import apsw
import orjson
import yaml

from runlore.domain.errors import Invalid
from runlore.ports.foreign_memories import ForeignMemories, ForeignMemory

_BYTES_MAX = 256 * 1024**2
_ARCHIVE_BYTES_MAX = 1024**3
_TEXT_BYTES_MAX = 1024**2
_FILES_MAX = 20_000
_MEMORIES_MAX = 20_000
_INSTRUCTIONS = re.compile(
    r"(?i)(?:claude|claude\.local|agents|agents\.override|gemini|copilot-instructions)\.md|\.cursorrules|.+\.mdc"
)
# Where agents are told what holds for a repository, beside its top folder.
_INSTRUCTION_FOLDERS = (".claude", ".cursor/rules", ".github")
# The files of an export by their names. A large one is in numbered parts, a newer one has a file for each
# thing.
_CHATS = re.compile(r"(?:.*/)?conversations(?:-\d{1,5})?\.json")
_OF_CLAUDE = re.compile(r"(?:.*/)?(?:memories|projects)(?:/[^/]+)?\.json")
_OF_MEM0 = re.compile(r"(?:.*/)?memories\.json")
_ARCHIVE = re.compile(r"(?:memories|projects|conversations)-\d{1,5}\.zip")
_JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
_DAMAGED = (OSError, ValueError, RuntimeError, EOFError, zlib.error, apsw.Error, zipfile.BadZipFile)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
# `- [category] text #tag (context)`: what a note says. Boxes are tasks.
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")
_CATEGORY = re.compile(r"\[(?![ xX-]\])[^\]\[]{1,60}\]\s+")
_OBSERVATION = re.compile(rf"^{_BULLET.pattern.removesuffix('(.*)')}{_CATEGORY.pattern}", re.MULTILINE)
_MARKUP = re.compile(r"\*\*|__|`(?=\S)|(?<=\S)`")
_HEADING = re.compile(r"\*\*[^*]+\*\*:?")
# What stands before a memory that says when it was noted, or whether somebody said so.
_NOTED = re.compile(r"\[(?:(\d{4}-\d\d-\d\d)|stated|inferred)\][.:]?\s+(?:-\s+)?")
_FENCES = ("```", "~~~")
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
    except _DAMAGED as error:
        raise Invalid(
            f"{path} cannot be read as what {known} writes: {str(error)[:200]}",
            code="import.form",
            hint="see that the file is whole, or name another system with --from; nothing was proposed",
        ) from None
    return ForeignMemories(system=known, memories=tuple(kept.values()))


def _read_mem0(path: str) -> Iterator[ForeignMemory]:
    """What `get_all` answers, an export, or a backup of its server: objects with `memory` or `content`, in a
    list, in `results`, in `memories` or by lines."""
    for data in _members(path, _OF_MEM0):
        try:
            document = orjson.loads(data)
        except ValueError:
            document = [orjson.loads(line) for line in data.splitlines() if line.strip()]
        told = _object(document)
        found = _list(document) or _list(told.get("results")) or _list(told.get("memories")) or [document]
        for item in map(_object, found):
            text = item.get("memory") or item.get("text") or item.get("data") or item.get("content")
            if item.get("state") != "deleted":
                yield _memory(text, item.get("id"), noted_at=item.get("updated_at") or item.get("created_at"))


def _read_basic_memory(path: str) -> Iterator[ForeignMemory]:
    """Notes in Markdown: their observations."""
    for file in _markdown_files(path):
        text, in_code = _read_text(file), False
        note = _front_matter(text)
        title = str(note.get("title") or os.path.basename(file).removesuffix(".md"))
        for number, line in enumerate(text.splitlines(), 1):
            in_code ^= line.lstrip().startswith(_FENCES)
            if not in_code and (said := _read_observation(line)):
                yield _memory(said, f"{note.get('permalink') or title}:{number}", place=title)


def _read_observation(line: str) -> str:
    """What an item says, without its tags; without a category only a tag makes it more than an item."""
    item = _BULLET.fullmatch(line)
    text = item[1] if item else ""
    found = _CATEGORY.match(text)
    is_one = found or (" #" in f" {text}" and "[" not in text)
    said, opened, context = (text[found.end() if found else 0 :] if is_one else "").strip().partition(" (")
    if not context.endswith(")"):
        said, opened, context = f"{said}{opened}{context}", "", ""
    words = said.split()
    while words and words[-1].startswith("#"):
        words.pop()
    return f"{' '.join(words)}{opened}{context}"


def _read_claude_mem(path: str) -> Iterator[ForeignMemory]:
    """The facts of its observations, each with the project that it was seen in."""
    file = os.path.join(path, "claude-mem.db") if os.path.isdir(path) else path
    with tempfile.TemporaryDirectory(prefix="runlore-import-") as folder:
        # A copy is read, since reading a database with a log leaves files beside it.
        copied = os.path.join(folder, "copy.db")
        shutil.copyfile(file, copied)
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{file}-wal", f"{copied}-wal")
        connection = apsw.Connection(copied)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            yield from _read_observations(connection)
        finally:
            connection.close(True)


def _read_observations(connection: apsw.Connection) -> Iterator[ForeignMemory]:
    there = set(connection.execute("SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c"))
    if not {("observations", name) for name in ("id", "project", "facts")} <= there:
        raise ValueError("it has no table of observations with facts")
    columns = ("title", "created_at", "merged_into_project")
    more = ", ".join(name if ("observations", name) in there else "NULL" for name in columns)
    rows = connection.execute(f"SELECT id, project, facts, {more} FROM observations ORDER BY id")
    for id, project, facts, titled, noted_at, merged in rows:
        try:
            said = _list(orjson.loads(str(facts or "[]")))
        except ValueError:
            said = [facts]
        for number, fact in enumerate(said):
            made = _memory(fact, f"{id}:{number}", place=titled, noted_at=noted_at)
            yield replace(made, project=str(merged or project or ""))
    if {("directives", name) for name in ("id", "project", "content", "status")} <= there:
        for id, project, content in connection.execute(
            "SELECT id, project, content FROM directives WHERE status = 'active' ORDER BY id"
        ):
            made = _memory(content, f"directive:{id}", place="directives")
            yield replace(made, project=str(project or ""))


def _read_chatgpt(path: str) -> Iterator[ForeignMemory]:
    """What its memory was told to keep (messages to `bio`), what it had of memory, and the custom
    instructions."""
    for talk in (_object(each) for data in _members(path, _CHATS) for each in _list(orjson.loads(data))):
        title = talk.get("title")
        for node in map(_object, _object(talk.get("mapping")).values()):
            message = _object(node.get("message"))
            content = _object(message.get("content"))
            if message.get("recipient") == "bio":
                for part in _list(content.get("parts")) or [content.get("text")]:
                    yield from _sentences(part, message.get("id"), place=title)
            elif content.get("content_type") == "model_editable_context":
                yield from _sentences(content.get("model_set_context"), message.get("id"), place="memory")
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
    documents = [orjson.loads(data) for data in _members(path, _OF_CLAUDE)]
    items = [_object(item) for each in documents for item in (each if isinstance(each, list) else [each])]
    names = {str(item.get("uuid")): item.get("name") for item in items}
    for item in items:
        yield from _sentences(item.get("conversations_memory"), "memory", place="memory")
        for file in map(_object, _list(item.get("memory_files"))):
            yield from _sentences(file.get("content"), file.get("path"), place="memory")
        for project, text in _object(item.get("project_memories")).items():
            place = f"memory of {names.get(project) or 'a project'}"
            yield from _sentences(text, f"project:{project}", place=place)
        yield from _sentences(item.get("prompt_template"), item.get("uuid"), place=item.get("name"))


def _read_instructions(path: str) -> Iterator[ForeignMemory]:
    """The items and sentences of instruction files, without their code."""
    for file in [path] if os.path.isfile(path) else _instruction_files(path):
        yield from _sentences(_behind_front(_read_text(file)), os.path.basename(file))


def _instruction_files(folder: str) -> Iterator[str]:
    for where in (folder, *(os.path.join(folder, name) for name in _INSTRUCTION_FOLDERS)):
        names = filter(_INSTRUCTIONS.fullmatch, _list_names(where))
        yield from (os.path.join(where, name) for name in names)


def _sentences(text: object, id: object, *, place: object = None) -> Iterator[ForeignMemory]:
    """The items of lists and the paragraphs of a text in Markdown, in one line each; no code, no headings."""
    if not isinstance(text, str):
        return
    number, in_code, in_comment, lines = 0, False, False, list[str]()
    for line in (*text.splitlines(), ""):
        stripped = line.strip()
        in_comment = in_comment or stripped.startswith("<!--")
        is_fence = not in_comment and stripped.startswith(_FENCES)
        is_hidden = is_fence or in_code or in_comment
        in_comment = in_comment and "-->" not in stripped
        item = None if is_hidden else _ITEM.fullmatch(line)
        ends = (
            is_hidden
            or item
            or not stripped
            or stripped.startswith(("#", "|", "<", ">", "---", "==="))
            or _HEADING.fullmatch(stripped)
            or (stripped.startswith("@") and " " not in stripped)
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
    noted = _NOTED.match(plain)
    said = " ".join(plain[noted.end() if noted else 0 :].split())
    # A line that only leads to what follows it says nothing by itself.
    return ForeignMemory(
        text="" if said.endswith(":") or len(said.split()) < 2 else said,
        id=str(id)[:200],
        place=str(place or "")[:200],
        noted_at=str(noted_at or (noted and noted[1]) or "")[:40],
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


def _markdown_files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
        return
    count = 0
    for where, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        count += len(names)
        if count > _FILES_MAX:
            raise ValueError(f"it has more than {_FILES_MAX} files")
        yield from (os.path.join(where, name) for name in sorted(names) if name.endswith(".md"))


def _read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise ValueError(f"it is larger than {_BYTES_MAX} bytes")
    return data.removeprefix(b"\xef\xbb\xbf")


def _read_text(path: str) -> str:
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        return file.read(_TEXT_BYTES_MAX)


def _members(path: str, wanted: re.Pattern[str]) -> Iterator[bytes]:
    """The files of an export by their names: in its folder, in its archive, in the archives that it was
    downloaded as, or the path itself."""
    is_empty = True
    for file in _list_files(path):
        name = os.path.relpath(file, path).replace(os.sep, "/")
        is_part = file == path or _ARCHIVE.fullmatch(name)
        found: Iterable[bytes] = ()
        if is_part and zipfile.is_zipfile(file):
            found = _unpack(file, wanted)
        elif file == path or wanted.fullmatch(name):
            found = (_read_bytes(file),)
        for data in found:
            is_empty = False
            yield data
    if is_empty:
        raise ValueError("it has none of the files of such an export")


def _list_files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
        return
    for folder in (path, os.path.join(path, "memories"), os.path.join(path, "projects")):
        yield from (os.path.join(folder, name) for name in _list_names(folder))


def _list_names(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _unpack(path: str, wanted: re.Pattern[str]) -> Iterator[bytes]:
    with zipfile.ZipFile(path) as archive:
        left = _ARCHIVE_BYTES_MAX
        for each in archive.infolist():
            if wanted.fullmatch(each.filename):
                left -= each.file_size
                if each.file_size > _BYTES_MAX or left < 0:
                    raise ValueError(f"{each.filename[:100]} is too large")
                if each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{each.filename[:100]} is packed in a way that is not read")
                yield archive.read(each)


def _holds(path: str, wanted: re.Pattern[str], *keys: bytes) -> bool:
    """Whether the files of an export have one of these keys."""
    if os.path.isfile(path) and not path.lower().endswith((*_JSON_ENDINGS, ".zip")):
        return False
    try:
        return any(key in data for data in _members(path, wanted) for key in keys)
    except _DAMAGED:
        return False


def _is_claude_mem(path: str) -> bool:
    return os.path.basename(path).endswith((".db", ".sqlite")) or os.path.isfile(
        os.path.join(path, "claude-mem.db")
    )


def _has_instructions(path: str) -> bool:
    if os.path.isfile(path):
        return _INSTRUCTIONS.fullmatch(os.path.basename(path)) is not None
    return any(_instruction_files(path))


def _has_notes(path: str) -> bool:
    return any(
        _OBSERVATION.search(_read_text(file)) is not None
        for _, file in zip(range(50), _markdown_files(path), strict=False)
    )


def _object(value: object) -> _Plain:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_CLAUDE_KEYS = (b'"conversations_memory"', b'"project_memories"', b'"memory_files"', b'"prompt_template"')
# By name, in the order in which a path is tried.
SYSTEMS = {
    "claude-mem": _System(reads=_read_claude_mem, looks_like=_is_claude_mem),
    "chatgpt": _System(reads=_read_chatgpt, looks_like=lambda path: _holds(path, _CHATS, b'"mapping"')),
    "claude": _System(reads=_read_claude, looks_like=lambda path: _holds(path, _OF_CLAUDE, *_CLAUDE_KEYS)),
    "instructions": _System(reads=_read_instructions, looks_like=_has_instructions),
    "mem0": _System(reads=_read_mem0, looks_like=lambda path: _holds(path, _OF_MEM0, b"{")),
    "basic-memory": _System(reads=_read_basic_memory, looks_like=_has_notes),
}
