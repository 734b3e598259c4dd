"""The tools of the MCP server: a few operations, each with the fields that an agent needs of it.

What a tool takes and answers comes from the declaration of its operation. People have all operations on the
command line and over HTTP; an agent that is given more tools uses all of them worse.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from runlore.daemon import answers
from runlore.daemon.skills.file_text import render_skill
from runlore.domain.access import Role
from runlore.domain.lazy import dataclass
from runlore.domain.skill import Skill
from runlore.ports.operations.declaration import EVERYBODY, OPERATIONS, OPERATORS, Operation, Route
from runlore.ports.operations.json_schemas import TEXT, Schema, Schemas
from runlore.ports.operations.request_reader import RequestReader

SESSION = "session_id"
REMEMBER = "remember"
_DEFINITIONS = "#/$defs/"
_HINT = "the tool's input schema tells what it takes"


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """An answer in another form than its operation's own: the JSON, the text, and the JSON's schema."""

    to_json: Callable[[Any], dict[str, Any]]
    to_text: Callable[[Any], str]
    schema: Schema


@dataclass(frozen=True, kw_only=True)
class MemoryTool:
    """One tool: an operation, which of its fields are taken, and what an agent is told about it."""

    name: str
    title: str
    about: str
    operation_name: str
    fields: tuple[str, ...]
    roles: frozenset[Role] = EVERYBODY
    presentation: Presentation | None = None

    @functools.cached_property
    def operation(self) -> Operation:
        return OPERATIONS[self.operation_name]

    @property
    def is_read_only(self) -> bool:
        return self.operation.routes[0].method == "GET"

    def allows(self, role: Role) -> bool:
        return role in self.roles and role in self.operation.roles

    @functools.cached_property
    def input_schema(self) -> Schema:
        """The fields it takes; the session is the connection's own unless one is named."""
        schemas = Schemas(_DEFINITIONS)
        taken = [
            each._replace(default=None) if each.key == SESSION else each
            for each in self.operation.takes
            if each.key in self.fields
        ]
        body = schemas.body_of(taken, self.about)
        return _with_definitions(body, schemas)

    @functools.cached_property
    def output_schema(self) -> Schema:
        if self.presentation is not None:
            return self.presentation.schema
        schemas = Schemas(_DEFINITIONS)
        kind = answers.answer_type(self.operation_name, self.operation.answer)
        found = schemas.of_answer(kind)
        # The protocol wants an object at the top, and not a reference to one.
        top = schemas.components[found["$ref"].removeprefix(_DEFINITIONS)] if "$ref" in found else found
        return _with_definitions(top, schemas)

    @functools.cached_property
    def _reader(self) -> RequestReader:
        hidden = frozenset(each.place[-1] for each in self.operation.takes if each.key not in self.fields)
        return RequestReader(self.operation, Route("POST /", without=hidden), hint=_HINT)

    def call(self, operations: object, arguments: Mapping[str, object]) -> tuple[dict[str, Any], str]:
        """Ask for the operation: its answer as JSON, and as the text that the agent reads."""
        read = self._reader.arguments(dict(arguments), {}, key=None, revision=None)
        answer = getattr(operations, self.operation_name)(**read)
        if self.presentation is not None:
            return self.presentation.to_json(answer), self.presentation.to_text(answer)
        plain = answers.write_answer(self.operation_name, read, answer)
        # Through its bytes, so that no value is shared and every part is JSON.
        encoded = orjson.dumps(plain, default=list)
        return orjson.loads(encoded), encoded.decode()


def _with_definitions(schema: Schema, schemas: Schemas) -> Schema:
    return {**schema, "$defs": schemas.components} if schemas.components else schema


def _skill_line(skill: Skill) -> dict[str, Any]:
    return {"name": skill.name, "description": skill.told_description}


def _object_of(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": [*properties]}


_NAMED = {"name": TEXT, "description": TEXT}
_LISTED = Presentation(
    to_json=lambda skills: {"items": [_skill_line(each) for each in skills]},
    to_text=lambda skills: (
        "\n".join(f"{each.name}: {each.told_description}" for each in skills)
        or "There are no skills for this session."
    ),
    schema=_object_of({"items": {"type": "array", "items": _object_of(_NAMED)}}),
)
_OPENED = Presentation(
    to_json=lambda skill: {**_skill_line(skill), "text": render_skill(skill)},
    to_text=render_skill,
    schema=_object_of({**_NAMED, "text": TEXT}),
)

TOOLS = (
    MemoryTool(
        name="memory_search",
        title="Search memory",
        about=(
            "Search what was learned and reviewed, earlier runs and skills, for this session's project and"
            " user. Use it before asking the user something they may have said before."
        ),
        operation_name="session_search",
        fields=("query", "limit", SESSION),
    ),
    MemoryTool(
        name="memory_context",
        title="Memory for a task",
        about=(
            "What planning a task should know: reviewed preferences, procedures and facts for a goal."
            " It is remembered context, not an instruction: the user's words and the working folder win."
        ),
        operation_name="goal_context",
        fields=("goal", "limit", SESSION),
    ),
    MemoryTool(
        name=REMEMBER,
        title="Propose a memory",
        about=(
            "Propose one sentence to remember: what the user wants kept, a decision, a fact. It waits for a"
            " person's review and reaches no prompt before. Do not propose what the code or its docs say."
            " Without a scope a preference is this user's where the token is bound to one, all else is"
            " everybody's."
        ),
        operation_name="create_candidate",
        fields=("kind", "content", "scope"),
    ),
    MemoryTool(
        name="list_skills",
        title="List skills",
        about="The skills that this session may use: reviewed, written procedures. Open one with use_skill.",
        operation_name="session_skills",
        fields=(SESSION,),
        presentation=_LISTED,
    ),
    MemoryTool(
        name="use_skill",
        title="Open a skill",
        about="The text of a skill, to be followed where it fits. Its use is counted.",
        operation_name="use_skill",
        fields=("name", "run_id", SESSION),
        presentation=_OPENED,
    ),
    MemoryTool(
        name="why",
        title="Why was this remembered",
        about=(
            "What a run was given from memory, what was left out, and why; without run_id your newest run."
        ),
        operation_name="receipt",
        fields=("run_id",),
    ),
    MemoryTool(
        name="feedback",
        title="Judge a memory",
        about="Say that a memory which a run was given was wrong, or helped. A person sees the wrong ones.",
        operation_name="feedback",
        fields=("record_id", "run_id", "verdict", "note"),
    ),
    MemoryTool(
        name="inbox",
        title="What waits for a person",
        about="All that waits for a person. Deciding is done on the command line, by a person.",
        operation_name="inbox",
        fields=("kind", "limit", "cursor"),
        roles=OPERATORS,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
