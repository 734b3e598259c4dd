"""Writes docs/requirements.md: every requirement that a test names, with the tests that prove it.

    python -m scripts.requirements_page

A test names what it proves with `@pytest.mark.req("REC-1", ...)`, on itself, on its class, on one of its
parameters, or for its whole file in `pytestmark`. The marks are read from the files, not by running them.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "requirements.md"

HEAD = """\
# Requirements, and the tests that prove them

Made by `make docs` from the `@pytest.mark.req(...)` marks in `tests/`; do not edit it by hand.

| requirement | proved by |
| --- | --- |
"""


def page(tests: Path) -> str:
    """The whole page, for the marks of the files below this folder."""
    proofs: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(tests.rglob("test_*.py")):
        place = path.relative_to(tests).as_posix()
        for requirement, test in marks(ast.parse(path.read_text("utf-8"), filename=place)):
            entry = f"`{place}::{test}`" if test else f"`{place}`"
            if entry not in proofs[requirement]:
                proofs[requirement].append(entry)
    rows = (
        f"| {requirement} | {'<br>'.join(proofs[requirement])} |\n"
        for requirement in sorted(proofs, key=order)
    )
    return HEAD + "".join(rows)


def marks(tree: ast.Module | ast.ClassDef, owner: str = "") -> Iterator[tuple[str, str]]:
    """Pairs of a requirement and the test, or class, that names it; an empty name is the whole file."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(_name(target) == "pytestmark" for target in node.targets):
            yield from ((requirement, owner) for requirement in _requirements(node.value))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{owner}::{node.name}" if owner else node.name
            for decorator in node.decorator_list:
                yield from ((requirement, name) for requirement in _requirements(decorator))
            if isinstance(node, ast.ClassDef):
                yield from marks(node, name)


def order(requirement: str) -> tuple[str, int]:
    """By area, then by number: REC-2 comes before REC-10."""
    area, _, number = requirement.rpartition("-")
    return area, int(number) if number.isdigit() else 0


def _requirements(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and _name(inner.func) == "req":
            for argument in inner.args:
                if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                    raise ValueError(f"line {argument.lineno}: a requirement is named by a plain string")
                yield argument.value


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


if __name__ == "__main__":
    PAGE.write_text(page(ROOT / "tests"), "utf-8")
