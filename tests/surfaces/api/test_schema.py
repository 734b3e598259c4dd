"""The OpenAPI document against the server: random calls after its rules and against them, to every route.

Nothing may fail inside, nothing is answered that the document does not tell, and every answer has its shape.
"""

import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode, openapi
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from runlore.api.app import all_endpoints
from runlore.api.openapi import openapi_of
from runlore.config.settings import Settings
from tests.examples import scaled
from tests.postgres_pool import PostgresPool
from tests.surfaces.api_client import Api, Json, serving
from tests.surfaces.rollout_things import SKILL, procedure, promote
from tests.surfaces.skill_runs import import_body, told_run
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("SUR-3")
EXAMPLES = scaled(2)
_numbers = itertools.count()
# Where no model is configured, they say so.
WITHOUT_A_MODEL = {
    *("POST /v1/sessions/{session_id}/inputs", "POST /v1/learning-skills/{name}/trial", "POST /v1/reading")
}
CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SCHEMA = openapi.from_dict(openapi_of(all_endpoints()))
OPERATIONS = {
    result.ok().label: result.ok() for result in SCHEMA.get_all_operations() if isinstance(result, Ok)
}
# A probe takes nothing, not even a token, so there is no way to call it wrongly.
PROBES = ("GET /healthz", "GET /readyz")
MODES = {
    label: (GenerationMode.POSITIVE,) if label in PROBES else tuple(GenerationMode) for label in OPERATIONS
}
# Here each route is called after its rules or against them, by turns; in the long ring both ways.
CALLS = [
    pytest.param(label, mode, marks=() if mode is modes[number % len(modes)] else pytest.mark.soak)
    for number, (label, modes) in enumerate(MODES.items())
    for mode in modes
]


def things(api: Api, label: str) -> Json:
    """Fresh things of the kinds that a path names, by the names that it gives them."""
    named = set(re.findall(r"{(\w+)}", label))
    found: Json = {"persona_id": "ada", "name": "retention", "job_id": "job_1", "curation_id": "cur_1"}
    if named:
        api.post("/v1/capture/resume")
    if "record_id" in named:
        body = {"key": f"editor {next(_numbers)}", "value": "helix", "reason": "they said so"}
        found["record_id"] = api.post("/v1/memory/profile-proposals", body, status=201)["record_id"]
    if named & {"session_id", "run_id", "artifact_id"}:
        found |= conversation(api)
    if label == "GET /v1/runs/{run_id}/events":
        # The stream of a run that goes on would go on with it.
        found["run_id"] = found["over"]
    if "/learning-skills/" in label:
        assert promote(api, procedure(api)).status in (200, 409)
        found["name"] = SKILL
    if "persona_id" in named:
        api.call("PUT", "/v1/personas/ada", {"name": "Ada"})
    if "suggestion_id" in named:
        api.post("/v1/transcripts/runs", import_body(told_run(1), told_run(2)))
        api.post("/v1/skill-suggestions/detect")
        suggestions = api.get("/v1/skill-suggestions", state=["waiting", "skipped", "saved"])["items"]
        found["suggestion_id"] = suggestions[0]["suggestion_id"]
    return found


def conversation(api: Api) -> Json:
    """A session with a run that goes on, and its artifact; and one that is over."""
    session = api.post("/v1/sessions", {"title": "T"}, status=201)["session_id"]
    run = api.post(f"/v1/sessions/{session}/runs", {"request": "Do it"}, status=201)["run_id"]
    artifact = api.call("POST", f"/v1/runs/{run}/artifacts", {"name": "n", "text": "t"}).json["artifact_id"]
    over = api.post(f"/v1/sessions/{session}/runs", {"request": "Do it"}, status=201)["run_id"]
    api.post(f"/v1/runs/{over}/finish", {"status": "completed"})
    return {"session_id": session, "run_id": run, "artifact_id": artifact, "over": over}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres_pool: PostgresPool) -> Iterator[list[Api]]:
    """One on each database, for the whole module: to find a call takes longer than to make it."""
    with ExitStack() as ends:
        urls = (None, ends.enter_context(postgres_pool.database()))
        homes = [str(tmp_path_factory.mktemp("shared") / "runlore") for _ in urls]
        yield [
            ends.enter_context(serving(Settings(state_root=home, database_url=url)))
            for home, url in zip(homes, urls, strict=True)
        ]


@pytest.mark.parametrize(("label", "mode"), CALLS)
def test_every_answer_is_one_that_the_document_tells(
    both: list[Api], label: str, mode: GenerationMode
) -> None:
    operation = OPERATIONS[label]
    there = [(api, things(api, label)) for api in both]
    checks = CHECKS if label in WITHOUT_A_MODEL else [not_a_server_error, *CHECKS]

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), named=st.booleans())
    def calls(case: Case[Any], named: bool) -> None:
        drawn: dict[str, Any] = case.path_parameters or {}
        for api, found in there:
            # Half of all calls name things that are there, so that more is reached than the door.
            case.path_parameters = {
                name: found.get(name, value) if named else value for name, value in drawn.items()
            }
            # Work that waits is done in the call, however long that takes beside other tests.
            response = case.call(
                base_url=f"http://127.0.0.1:{api.port}",
                headers={"Authorization": f"Bearer {api.secret}"},
                timeout=PATIENCE_S,
            )
            case.validate_response(response, checks=checks)

    calls()
    for api in both:
        assert api.call("GET", "/readyz").status == 200
