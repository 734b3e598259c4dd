"""Procedures that can be promoted, and what is done with them over HTTP."""

from typing import Any

from tests.surfaces.api_client import Answer, Api, Json, path_of

SKILL = "release-it"


def procedure(api: Api, content: str = "Run the tests, tag the commit, push the tag", **more: Any) -> str:
    """The id of a published procedure."""
    body = {"kind": "procedure", "content": content, **more}
    record_id = str(api.post("/v1/learning-candidates", body, status=201)["record_id"])
    api.post(path_of("v1", "learning-candidates", record_id, "publish"), {})
    return record_id


def promote(api: Api, record_id: str, name: str = SKILL, **more: Any) -> Answer:
    """A promotion, however it ends."""
    body = {"skill_name": name, "instructions": "Run the tests. Tag it.", **more}
    return api.call("POST", path_of("v1", "learnings", record_id, "promote-skill"), body)


def do(api: Api, act: str, body: Any = None, *, name: str = SKILL) -> Answer:
    """An act on a promoted skill, however it ends."""
    return api.call("POST", path_of("v1", "learning-skills", name, act), body)


def done(api: Api, act: str, body: Any = None, *, name: str = SKILL, status: int = 200) -> Json:
    """An act on a promoted skill that succeeds."""
    answer = do(api, act, body, name=name)
    assert answer.status == status, answer
    return answer.json
