"""What is kept of a request that went to a provider has no secret in it, whatever form its body has."""

import pytest

from runlore.daemon.agent.journal_writer import redact_request

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7h8"


@pytest.mark.req("AGT-6")
@pytest.mark.parametrize("body", ['{"messages": [{"content": "%s"}]}', "no JSON: %s", '{"cut": "%s'])
def test_no_secret_is_kept_of_a_request_that_is_no_json_either(body: str) -> None:
    kept = redact_request(body % SECRET)
    assert SECRET not in kept
    assert "redacted" in kept
