"""One more operation takes its declaration and its implementation, and nothing else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECLARED, DONE = "ports/operations/records.py", "daemon/operations/records.py"
DECLARATION = '''
    @Operation("POST /v1/memory/records/{record_id}/repeat", AGENTS)
    def repeat_record(
        self, record_id: RecordId, *, times: Annotated[int, About("How often.", least=1, most=9)] = 1
    ) -> Page:
        """The same record several times."""
        ...
'''
IMPLEMENTATION = '''
    @operation
    def repeat_record(self, record_id: RecordId, *, times: int = 1) -> ops.Page:
        """The same record several times."""
        return ops.Page(items=(self.get_record(record_id),) * times)
'''
PROGRAM = """
import json, sys
from contextlib import closing
import runlore
from runlore.client.addresses import transport_to
from runlore.client.remote import RemoteOperations
from runlore.config.settings import Settings
from runlore.domain.access import Role
from tests.surfaces.api_client import serving

with serving(Settings(state_root=sys.argv[1])) as api:
    body = {"key": "editor", "value": "helix", "reason": "they said so"}
    record_id = api.post("/v1/memory/profile-proposals", body, status=201)["record_id"]
    path = f"/v1/memory/records/{record_id}/repeat"
    over_http = api.call("POST", path, {"times": 3})
    with closing(transport_to(f"http://127.0.0.1:{api.port}", token=api.secret)) as transport:
        by_client = RemoteOperations(transport).repeat_record(record_id, times=2)
    document = api.get("/openapi.json")["paths"]["/v1/memory/records/{record_id}/repeat"]["post"]
    denied = api.call("POST", path, token=api.token("a-reader", Role.READER))
    wrong = api.call("POST", path, {"times": "3"})
    print(json.dumps({
        "from": runlore.__file__,
        "http": [over_http.status, len(over_http.json["items"])],
        "client": len(by_client.items),
        "document": document,
        "denied": denied.problem,
        "wrong": [*wrong.problem, wrong.json["detail"]],
    }))
"""


@pytest.mark.req("SUR-1", "SUR-3", "OPS-5")
def test_an_operation_is_added_by_its_declaration_and_its_implementation_alone(tmp_path: Path) -> None:
    copy = tmp_path / "runlore"
    shutil.copytree(ROOT / "src" / "runlore", copy)
    for name, more in ((DECLARED, DECLARATION), (DONE, IMPLEMENTATION)):
        (copy / name).write_text(with_method((copy / name).read_text("utf-8"), more), "utf-8")

    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "home")],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["from"].startswith(str(copy))
    assert told["http"] == [200, 3]
    assert told["client"] == 2
    assert told["denied"] == [403, "role.denied"]
    assert told["wrong"][:2] == [422, "request.field"]
    assert told["wrong"][2].startswith("times ")
    assert told["document"]["operationId"] == "repeat_record"
    assert told["document"]["description"] == "The same record several times."
    schema = told["document"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["times"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "description": "How often.",
    }


def with_method(source: str, method: str) -> str:
    """The source of a module with one more method in its last class."""
    head, mark, rest = source.rpartition("\nclass ")
    body, below, functions = rest.partition("\n\n\n")
    return f"{head}{mark}{body}\n{method}{below}{functions}"
