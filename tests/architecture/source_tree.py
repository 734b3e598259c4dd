"""The project's own files as data, for the tests that read them instead of running them."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[2]
PACKAGE = "src/runlore"

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One Python file: its place below the root, written with `/`, and its text."""

    path: str
    text: str

    @classmethod
    def parse(cls, path: str, text: str) -> "SourceFile":
        """A file of this text at that place, which need not exist."""
        return cls(path=path, text=text)

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree, made when a rule first asks: the trees of a folder take seconds to make."""
        return ast.parse(self.text, filename=self.path)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All of its syntax tree, walked once for all rules: the walks cost more than the rules."""
        return tuple(ast.walk(self.tree))

    def is_in(self, *folders: str) -> bool:
        """Whether it lies below one of these folders, or is one of these files."""
        return any(self.path == folder or self.path.startswith(f"{folder}/") for folder in folders)

    def at(self, node: ast.stmt | ast.expr | ast.excepthandler | int, what: str) -> str:
        """One finding, in the form that editors can jump to."""
        return f"{self.path}:{node if isinstance(node, int) else node.lineno}: {what}"


def python_files(*folders: str) -> tuple[SourceFile, ...]:
    """Every Python file below these folders."""
    return tuple(file for folder in folders for file in _python_files_of(folder))


@cache
def _python_files_of(folder: str) -> tuple[SourceFile, ...]:
    """Read once for all rules, which share the trees."""
    return tuple(
        SourceFile.parse(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    )


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is part of the project: tracked by git, or about to be."""
    # Whoever owns the clone, listing its files is safe.
    command = [
        "git",
        "-c",
        "safe.directory=*",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return tuple(path for path in paths if path.is_file())


def functions(file: SourceFile) -> Iterator[FunctionNode]:
    """Every function and method, nested ones too."""
    return (node for node in file.nodes if isinstance(node, FunctionNode))


def docstring_lines(node: ast.AST) -> int:
    """How many lines the docstring of a module, class or function takes."""
    body = getattr(node, "body", [])
    if not body or not isinstance(body[0], ast.Expr):
        return 0
    value = body[0].value
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return (value.end_lineno or value.lineno) - value.lineno + 1
    return 0


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a chain of names, of the thing called where it is a call, and nothing for the rest."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""
