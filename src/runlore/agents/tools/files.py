"""Files of the working folder: reading, writing, editing."""

import os
from collections.abc import Callable

from runlore.agents.tools.context import (
    RunTool,
    ToolContext,
    ask_about,
    integer_schema,
    number_argument,
    object_schema,
    text_argument,
    text_schema,
)
from runlore.domain import limits
from runlore.domain.agent.conversation import ToolCall, ToolSpec
from runlore.domain.agent.obeyed_files import names_of, obeyed_by
from runlore.domain.record import JsonObject
from runlore.domain.taint_sources.paths import outside_of_path
from runlore.ports.runner import ToolOutcome
from runlore.ports.stopping import Stop
from runlore.ports.workspaces import FileText, WithheldChanges, Workspace

READ, WRITE, EDIT = "read_file", "write_file", "edit_file"
_LINES_MAX = 1_000_000
# Room for the line that says what was left out.
_NOTE_CHARS = 200
_PATH = text_schema(
    "The path, relative to the working folder, such as src/main.py; no .. and nothing outside of it.",
    chars_max=limits.PATH_CHARS_MAX,
)


def read_file(given: ToolContext) -> RunTool | None:
    workspace = given.workspace
    if workspace is None:
        return None
    spec = ToolSpec(
        name=READ,
        description=(
            "Read a text file of the working folder, or list the names in one of its folders. A long"
            " file comes in parts: the answer says which line to read on from."
        ),
        parameters=object_schema(
            {
                "path": _PATH,
                "first_line": integer_schema("The first line to read, from 1.", most=_LINES_MAX),
                "lines": integer_schema("How many lines to read; without it, all that fit.", most=_LINES_MAX),
            },
            optional=("first_line", "lines"),
        ),
    )

    def call(call: ToolCall, _stop: Stop) -> ToolOutcome:
        """The text. Where it is not the workspace's own, `source` says where it was read."""
        path = text_argument(call.arguments, "path")
        found = workspace.read(
            path,
            first=number_argument(call.arguments, "first_line") or 1,
            lines=number_argument(call.arguments, "lines"),
        )
        whole_path = os.path.join(workspace.folder, path)
        return ToolOutcome(
            output=_format_text(found, given.limits.output_chars_max - _NOTE_CHARS),
            source=whole_path if outside_of_path(whole_path) else "",
        )

    return RunTool(spec, call)


def write_file(given: ToolContext) -> RunTool | None:
    workspace = given.workspace
    if workspace is None:
        return None
    spec = ToolSpec(
        name=WRITE,
        description=(
            "Write a whole text file of the working folder: a new one, or in place of what is there."
            " Folders on the way are made. To change a part of a file, use edit_file."
        ),
        parameters=object_schema({"path": _PATH, "content": _content("The whole text of the file.")}),
    )

    def call(call: ToolCall, _stop: Stop) -> ToolOutcome:
        path, content = text_argument(call.arguments, "path"), text_argument(call.arguments, "content")
        compare = _comparison(workspace, path)
        is_new = workspace.write(path, content)
        return ToolOutcome(
            output=f"{path} is {'new' if is_new else 'rewritten'}: {len(content):,} characters",
            withheld=ask_about(compare()),
        )

    return RunTool(spec, call)


def edit_file(given: ToolContext) -> RunTool | None:
    workspace = given.workspace
    if workspace is None:
        return None
    spec = ToolSpec(
        name=EDIT,
        description=(
            "Replace a text in a file of the working folder by another one. The old text has to stand"
            " there exactly as given, white space included, and once: take in enough of the lines"
            " around it, or say everywhere."
        ),
        parameters=object_schema(
            {
                "path": _PATH,
                "old_text": text_schema("The text to replace.", chars_max=limits.AGENT_FILE_CHARS_MAX),
                "new_text": _content("The text in its place; empty takes it away."),
                "everywhere": {
                    "type": "boolean",
                    "description": "Replace it each time it stands there. Without it, once alone.",
                },
            },
            optional=("everywhere",),
        ),
    )

    def call(call: ToolCall, _stop: Stop) -> ToolOutcome:
        path = text_argument(call.arguments, "path")
        compare = _comparison(workspace, path)
        times = workspace.edit(
            path,
            text_argument(call.arguments, "old_text"),
            text_argument(call.arguments, "new_text"),
            everywhere=call.arguments.get("everywhere") is True,
        )
        return ToolOutcome(
            output=f"{path} is changed in {times} place{'s' if times != 1 else ''}",
            withheld=ask_about(compare()),
        )

    return RunTool(spec, call)


def _comparison(workspace: Workspace, path: str) -> Callable[[], WithheldChanges | None]:
    """What undoes a write that another program obeys for where it is, not for its name: a file that
    `AGENTS.md` leads to, one of a folder that git takes for a repository. A name is asked about before."""
    return workspace.compare(path) if obeyed_by(names_of(path)) is None else lambda: None


def _content(description: str) -> JsonObject:
    return text_schema(description, chars_min=0, chars_max=limits.AGENT_FILE_CHARS_MAX)


def _format_text(found: FileText, chars_max: int) -> str:
    """Whole lines as far as they fit, and where to read on."""
    if not found.lines:
        return "(it is empty)"
    if not found.text and found.first > found.lines:
        return f"(there is no line {found.first}: the file has {found.lines} lines)"
    kept: list[str] = []
    chars = 0
    for line in found.text.removesuffix("\n").split("\n"):
        if kept and chars + len(line) >= chars_max:
            break
        kept.append(line)
        chars += len(line) + 1
    last = found.first + len(kept) - 1
    if last >= found.lines and found.first == 1 and not found.truncated:
        return found.text
    if last < found.lines:
        more = f"; read on with first_line {last + 1}"
    else:
        more = "; the end of a long line is left out" if found.truncated else ""
    return "\n".join([*kept, f"[lines {found.first} to {last} of {found.lines}{more}]"])
