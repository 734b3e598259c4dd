"""The reference pages are written from the code, and the code names every error code in full."""

import ast
from pathlib import Path

import pytest

from scripts import reference_pages


@pytest.mark.req("REC-5", "SUR-6")
def test_the_generated_pages_say_what_the_code_says() -> None:
    stale = [
        str(path.relative_to(reference_pages.ROOT))
        for path, text in reference_pages.pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]

    assert not stale, f"run `make docs`: {stale}"


def test_every_error_code_is_written_out_so_that_the_page_can_list_it() -> None:
    computed = [
        f"{path.relative_to(reference_pages.ROOT)}:{node.lineno}"
        for path in sorted(Path(reference_pages.ROOT / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.JoinedStr)
    ]

    assert not computed
