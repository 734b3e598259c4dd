"""Files from outside: many paths at once are judged as each of them alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.taint_sources.paths import PATHS, outside_of_path, outside_of_paths

pytestmark = pytest.mark.req("TNT-1")

OUTSIDE = [
    *(".env", "prod.env", "prod\u00e9.env", "a/.env.local", ".ssh/config", "id_rsa", "a/secrets.yaml"),
    *(".aws/credentials", "/etc/shadow", "/proc/1/environ", "~/Downloads/a.txt", "node_modules/a/b.js"),
    *("C:\\Users\\me\\.env", " .ENV "),
]
OWN = [
    "a.py",
    ".env.example",
    "src/env.py",
    "docs/\u00e9.md",
    "",
    ".ssh/known_hosts",
    "-la",
    "x" * 5_000,
    "a\nb",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_file_from_outside_is_found_among_others(path: str) -> None:
    for around in ((), ("a.py",), OWN):
        assert [found for found, _ in outside_of_paths([*around, path, *around])] == [path]


@given(st.lists(st.one_of(st.sampled_from([*OUTSIDE, *OWN]), st.text(max_size=12)), max_size=8))
def test_many_paths_are_judged_as_each_alone(paths: list[str]) -> None:
    alone = [(path, outside_of_path(path)) for path in paths]
    assert list(outside_of_paths(paths)) == [(path, outside) for path, outside in alone if outside]


def test_every_row_has_its_reason() -> None:
    assert all(row.outside.why and row.shows for row in PATHS)
