"""A secret in any text field of any operation: no file of the state root, no export and no backup has it."""

import random
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runlore.config.settings import Settings
from tests.surfaces.api.test_roles import CALLS
from tests.surfaces.api_client import Json, serving
from tests.surfaces.api_conformance import document
from tests.surfaces.api_filled import Filled
from tests.surfaces.skill_files_of import skill_md
from tests.surfaces.skill_runs import import_body, told_run

pytestmark = pytest.mark.req("SEC-3", "LRN-8")

Place = tuple[Any, ...]
DEPTH_MAX = 4
_LETTERS = string.ascii_letters + string.digits


def secret(name: str) -> str:
    """A token that nobody has, another one for each name."""
    letters = random.Random(name)
    return "ghp_" + "".join(letters.choice(_LETTERS) for _ in range(36))


def bodies(filled: Filled) -> dict[str, tuple[str, str, Json]]:
    """A call of each operation that changes something, which gets as far as it can."""
    more: dict[str, Json] = {
        "propose_profile": {"key": "pager", "value": "less", "reason": "they said so", "scope": "workspace"},
        "create_candidate": {
            "kind": "fact",
            "content": "It is so",
            "summary": "So it is",
            "scope": "project:atlas",
            "evidence_refs": [{"note": "seen"}],
            "metadata": {"a": "b"},
        },
        "add_episode": {"kind": "experiment", "summary": "It worked", "metadata": {"a": "b"}},
        "import_skill": {"text": skill_md(name="from-afar"), "source": "a friend"},
        "import_runs": carrying(import_body(told_run(3))),
        "create_session": {"title": "T", "project_ids": ["atlas"], "agent": "a", "working_folder": "/x"},
        "put_persona": {"name": "Ada", "capability_scope": {"skills": ["a*"]}},
        "create_token": {"name": "another", "role": "reader", "scopes": ["project:atlas"]},
    }
    places = {
        "/v1/memory/records/none": f"/v1/memory/records/{filled.preference}",
        "/v1/review/none": f"/v1/review/{filled.waiting}",
        "/v1/learning-candidates/none": f"/v1/learning-candidates/{filled.candidate}",
        "/v1/learnings/none": f"/v1/learnings/{filled.procedure}",
        "/v1/learning-skills/none": f"/v1/learning-skills/{filled.promoted}",
        "/v1/skills/none": f"/v1/skills/{filled.skill}",
        "/v1/skill-suggestions/none": f"/v1/skill-suggestions/{filled.suggestions[0]}",
        "/v1/memory/radar/none": f"/v1/memory/radar/{filled.finding}",
        "/v1/runs/own": filled.of_open(),
        "/v1/sessions/own": filled.at(),
        "/v1/approvals/none": "/v1/approvals/ask%2F1",
    }
    found: dict[str, tuple[str, str, Json]] = {}
    for name, (method, path, body) in CALLS.items():
        if method != "GET":
            known = next((each for each in places if f"{path}/".startswith(f"{each}/")), "")
            found[name] = (method, path.replace(known, places.get(known, "")), more.get(name, body) or {})
    return found


def carrying(body: Json) -> Json:
    """An import whose positions carry a text under a name, as those of every reader do."""
    for position in (body["position"], *(run["after"] for run in body["runs"])):
        position["carried"] = {"spoken": "a session of theirs"}
    return body


def with_secrets(name: str, body: Json) -> Iterator[tuple[str, str, Json]]:
    """The body with a secret in each text that it has or could have, and as its name below the top."""
    told = next(
        told
        for methods in document()["paths"].values()
        for told in methods.values()
        if told["operationId"] == name
    )
    content = told.get("requestBody", {}).get("content", {}).get("application/json", {})
    known = resolved(content.get("schema", {})).get("properties", {})
    given = {**{key: example(each, key=key) for key, each in known.items()}, **body}
    for place in places_of(given):
        hidden = secret(f"{name} {place}")
        wanted = {key: given[key] for key in (*body, place[0])}
        yield f"{name}: {'.'.join(map(str, place))}", hidden, put(wanted, place, hidden)
        if len(place) > 1 and isinstance(place[-1], str):
            hidden = secret(f"{name} {place} named")
            yield f"{name}: {'.'.join(map(str, place))} as a name", hidden, rename(wanted, place, hidden)


def rename(value: Any, place: Place, name: str) -> Any:
    """The document with another name for what is at a place."""
    key, *rest = place
    if not rest:
        return {name if each == key else each: text for each, text in value.items()}
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    changed = {each: rename(part, tuple(rest), name) if each == key else part for each, part in parts}
    return changed if isinstance(value, dict) else list(changed.values())


def resolved(schema: Json) -> Json:
    """A schema without references; of several shapes the first that is a value."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    if reference:
        return resolved(document()["components"]["schemas"][reference])
    values = [part for part in schema.get("anyOf", []) if part.get("type") != "null"]
    return resolved(values[0]) if values else schema


def example(schema: Json, depth: int = 0, *, key: str = "") -> Any:
    """A value that a schema takes, with a text wherever one may be."""
    schema = resolved(schema)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        known = schema.get("properties", {}) if depth < DEPTH_MAX else {}
        return {key: example(each, depth + 1, key=key) for key, each in known.items()} or {"a": "text"}
    if kind == "array":
        return [example(schema.get("items", {}), depth + 1)]
    text = "/x/text" if "folder" in key else "text"
    return {"integer": schema.get("minimum", 1), "boolean": False, "number": 1}.get(str(kind), text)


def places_of(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where a document has texts."""
    if isinstance(value, str):
        yield place
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in parts:
        yield from places_of(each, (*place, key))


def put(value: Any, place: Place, text: str) -> Any:
    """The document with another text at a place; one of several words goes on with it, and the last name of
    a path or a scope is it."""
    if not place:
        return f"{value} {text}" if len(value.split()) > 1 else re.sub(r"[^/:]*\Z", text, value, count=1)
    key, *rest = place
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    changed = {name: put(each, tuple(rest), text) if name == key else each for name, each in parts}
    return changed if isinstance(value, dict) else list(changed.values())


def holding(folder: Path, hidden: Mapping[str, str]) -> set[str]:
    """The names of those secrets that a file of a folder holds, or is called by."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    contents = [str(file).encode() + file.read_bytes() for file in files]
    return {name for name, each in hidden.items() if any(each.encode() in content for content in contents)}


def test_no_secret_of_any_field_is_kept_or_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hidden: dict[str, str] = {}
    repeated, taken = set(), set()
    with serving(Settings(state_root=str(tmp_path / "runlore"))) as api:
        for name, (method, path, body) in bodies(Filled(api)).items():
            for place, each, wrong in with_secrets(name, body):
                hidden[place] = each
                answer = api.call(method, path, wrong)
                repeated |= {place} if each.encode() in answer.body else set()
                taken |= {name} if answer.status < 300 else set()
        api.post("/v1/jobs/work", {"limit": 500})
        api.post("/v1/memory/export", status=201)
        api.post("/v1/backup", status=201)

    assert len(hidden) > 200
    assert len(taken) > 15, "a call that is refused for something else shows nothing"
    assert not repeated
    assert not holding(tmp_path, hidden)


def calls_with_secrets() -> Iterator[tuple[str, str, str, str, dict[str, str]]]:
    """Every call with a secret in each name of its path, each parameter of its query, and as its key."""
    for path, methods in document()["paths"].items():
        for method, told in methods.items():
            name, plain = told["operationId"], re.sub(r"\{[^}]+\}", "none", path)
            if name in {"restore_backup", "follow_run"}:
                continue
            for part in told.get("parameters", []):
                hidden = secret(f"{name} {part['in']} {part['name']}")
                where, kind = f"{name}: {part['in']} {part['name']}", part["in"]
                if kind == "path":
                    there = re.sub(r"\{[^}]+\}", "none", path.replace(f"{{{part['name']}}}", hidden))
                    yield where, hidden, method.upper(), there, {}
                elif kind == "query":
                    yield where, hidden, method.upper(), f"{plain}?{part['name']}={hidden}", {}
                elif kind == "header":
                    yield where, hidden, method.upper(), plain, {part["name"]: hidden}


def test_no_secret_of_any_path_query_or_header_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hidden: dict[str, str] = {}
    with serving(Settings(state_root=str(tmp_path / "runlore"))) as api:
        filled = bodies(Filled(api))
        for where, each, method, path, headers in calls_with_secrets():
            hidden[where] = each
            body = (
                filled[where.split(":")[0]][2]
                if where.split(":")[0] in filled and method != "DELETE"
                else None
            )
            api.call(method, path, body, headers=headers)
        stranger = tmp_path / "runlore" / "skills" / "stranger"
        stranger.mkdir(parents=True, exist_ok=True)
        hidden["a file of the skill root"] = secret("a file of the skill root")
        (stranger / "SKILL.md").write_text(skill_md(name="stranger", body=hidden["a file of the skill root"]))
        api.call("GET", "/v1/skills")
        api.call("POST", "/v1/skills/curate", {"apply": True})
        api.post("/v1/jobs/work", {"limit": 500})
        api.post("/v1/memory/export", status=201)
        api.post("/v1/backup", status=201)
    (stranger / "SKILL.md").unlink()

    assert len(hidden) > 100
    assert not holding(tmp_path, hidden)
