"""Every call is answered as the committed file says: bytes, statuses, headers, refusals, and the document."""

import json

import pytest

from tests.surfaces.http_answers import FILE, lines


@pytest.mark.req("SUR-1", "SUR-3", "SUR-7", "OPS-4")
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_every_call_is_answered_and_refused_as_the_file_says(
    database: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_database") if database == "postgres" else None
    expected = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]

    found = list(lines(url))

    assert len(found) == len(expected)
    for line, before in zip(found, expected, strict=True):
        assert line == before
