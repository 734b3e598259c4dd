"""The reference pages are written from the code, and the code names every error code in full."""

import ast
import tomllib

import pytest

from runlore.domain.policies.policy_fields import learning_policy
from runlore.domain.policies.skills_policy import skills_policy
from scripts import reference_pages
from scripts.policy_page import policy_examples, skills_policy_examples
from tests.architecture.source_tree import PACKAGE, python_files


@pytest.mark.req("REC-5", "SUR-6", "POL-5")
def test_the_generated_pages_say_what_the_code_says() -> None:
    stale = [
        str(path.relative_to(reference_pages.ROOT))
        for path, text in reference_pages.pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]

    assert not stale, f"run `make docs`: {stale}"


@pytest.mark.req("POL-5")
@pytest.mark.parametrize("path", sorted(policy_examples()))
def test_the_example_of_every_policy_field_is_accepted_and_shows_the_field(path: str) -> None:
    document = tomllib.loads(policy_examples()[path])
    shown: object = document
    for name in path.replace("[]", ".0").split("."):
        shown = shown[int(name)] if isinstance(shown, list) else shown[name]  # type: ignore[index]

    assert shown is not None
    assert learning_policy(document) is not None


@pytest.mark.req("SKL-12")
@pytest.mark.parametrize("path", sorted(skills_policy_examples()))
def test_the_example_of_every_field_of_the_skills_policy_is_accepted_and_changes_it(path: str) -> None:
    document = tomllib.loads(skills_policy_examples()[path])
    shown: object = document
    for name in path.split("."):
        shown = shown[name]  # type: ignore[index]

    assert shown is not None
    assert skills_policy(document) != skills_policy({})


def test_every_error_code_is_written_out_so_that_the_page_can_list_it() -> None:
    computed = [
        f"{file.path}:{node.lineno}"
        for file in python_files(PACKAGE)
        for node in file.nodes
        if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.JoinedStr)
    ]

    assert not computed
