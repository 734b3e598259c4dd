"""The rules of how code is written here, one function each: what it finds, a reader can jump to.

They read files and never run them. What a linter already checks is not checked again.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import TypeAlias

from tests.architecture.source_tree import (
    PACKAGE,
    FunctionNode,
    SourceFile,
    docstring_lines,
    dotted,
    functions,
)

Rule: TypeAlias = Callable[[SourceFile], Iterator[str]]

MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 7
POSITIONAL_PARAMETERS_MAX = 4
WHY_CHARS_MIN = 20

HOMELESS = frozenset({"util", "utils", "helper", "helpers", "common", "base", "manager", "managers", "misc"})
# Written in halves, so that this file does not find itself.
UNFINISHED = re.compile(
    "|".join(rf"\b{a}{b}\b" for a, b in [("TO", "DO"), ("FIX", "ME"), ("X", "XX"), ("HA", "CK")])
)
LAZY_IMPORTS_ALLOWED = (
    f"{PACKAGE}/__init__.py",
    f"{PACKAGE}/cli",
    # Heavy libraries that most commands never need: docs/decisions/0003-start-up.md.
    f"{PACKAGE}/agents/transcripts/remote.py",
    f"{PACKAGE}/client/connect.py",
    f"{PACKAGE}/config/settings.py",
    f"{PACKAGE}/daemon/mining/cluster.py",
    f"{PACKAGE}/daemon/wiring.py",
    f"{PACKAGE}/domain/text/analysis.py",
    f"{PACKAGE}/models",
    f"{PACKAGE}/storage/open.py",
    f"{PACKAGE}/storage/postgres",
)
# Packages whose names are loaded when they are asked for.
LAZY_PACKAGES = (f"{PACKAGE}/__init__.py", f"{PACKAGE}/ports/operations/__init__.py")
CORE = (f"{PACKAGE}/domain", f"{PACKAGE}/flow")
SYNCHRONOUS = tuple(
    f"{PACKAGE}/{folder}"
    for folder in ("domain", "ports", "flow", "storage", "recall", "skill_files", "config")
)
CLOCKS = frozenset(
    {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "datetime.datetime.now"}
)


def modules_are_short(file: SourceFile) -> Iterator[str]:
    """A module is one concept; past this length it is two."""
    lines = len(file.text.splitlines())
    if lines > MODULE_LINES_MAX:
        yield file.at(lines, f"{lines} lines, more than {MODULE_LINES_MAX}")


def functions_are_short(file: SourceFile) -> Iterator[str]:
    """Counted without decorators and docstring."""
    for function in functions(file):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1 - docstring_lines(function)
        if lines > FUNCTION_LINES_MAX:
            yield file.at(function, f"{function.name} has {lines} lines, more than {FUNCTION_LINES_MAX}")


def parameters_are_few(file: SourceFile) -> Iterator[str]:
    """At most seven, and at most four of them by position.

    A command's parameters are the options of the command line, which people name anyway.
    """
    for function in functions(file):
        decorators = {dotted(decorator).rpartition(".")[2] for decorator in function.decorator_list}
        if decorators & {"command", "callback"}:
            continue
        positional = [*function.args.posonlyargs, *function.args.args]
        if positional and positional[0].arg in {"self", "cls"}:
            del positional[0]
        total = len(positional) + len(function.args.kwonlyargs)
        if total > PARAMETERS_MAX:
            yield file.at(function, f"{function.name} takes {total} parameters, more than {PARAMETERS_MAX}")
        if len(positional) > POSITIONAL_PARAMETERS_MAX:
            yield file.at(function, f"{function.name} takes {len(positional)} parameters by position")


def imports_stand_at_the_top(file: SourceFile) -> Iterator[str]:
    """Only optional drivers, commands, model adapters and the root's lazy names import when called."""
    if file.is_in(*LAZY_IMPORTS_ALLOWED):
        return
    for function in functions(file):
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield file.at(node, f"{function.name} imports when it is called")


def no_exception_is_swallowed_without_a_why(file: SourceFile) -> Iterator[str]:
    """Catching everything and going on is for outer loops, and a comment there says why."""
    lines = file.text.splitlines()
    for node in file.nodes:
        if not isinstance(node, ast.ExceptHandler) or not _catches_everything(node):
            continue
        if any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
            continue
        around = lines[node.lineno - 1 : node.body[0].lineno]
        if not any(len(line.partition("#")[2].strip()) >= WHY_CHARS_MIN for line in around):
            yield file.at(node, "catches everything and goes on, without a comment that says why")


def nothing_is_left_unfinished(file: SourceFile) -> Iterator[str]:
    """What is not done is an issue, not a note in the code."""
    for number, line in enumerate(file.text.splitlines(), start=1):
        if found := UNFINISHED.search(line):
            yield file.at(number, f"{found[0]}: write an issue instead")
    for node in file.nodes:
        if isinstance(node, ast.Raise) and node.exc and dotted(node.exc) == "NotImplemented" + "Error":
            yield file.at(node, "raises instead of doing the work")


def every_name_has_a_home(file: SourceFile) -> Iterator[str]:
    """A thing without a home is not understood yet."""
    for part in PurePosixPath(file.path).with_suffix("").parts:
        if homeless := HOMELESS.intersection(part.split("_")):
            yield file.at(1, f"{sorted(homeless)[0]} is no place for anything")


def the_core_is_fully_typed(file: SourceFile) -> Iterator[str]:
    """Raw data is parsed at the edge; inside, everything has a type."""
    if not file.is_in(*CORE):
        return
    for node in file.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and dotted(node) in {"Any", "typing.Any"}:
            yield file.at(node, "Any inside the core")


def the_core_is_handed_the_time(file: SourceFile) -> Iterator[str]:
    """The same input gives the same result on any day: `now` is an argument."""
    if not file.is_in(*CORE):
        return
    for node in file.nodes:
        if isinstance(node, ast.Call) and dotted(node) in CLOCKS:
            yield file.at(node, f"reads the clock with {dotted(node)}")


def the_core_has_one_colour(file: SourceFile) -> Iterator[str]:
    """Async lives in the surfaces and in the model adapter."""
    if not file.is_in(*SYNCHRONOUS):
        return
    for node in file.nodes:
        if isinstance(node, ast.AsyncFunctionDef | ast.AsyncWith | ast.AsyncFor | ast.Await):
            yield file.at(node, "async in the synchronous part")


def modules_and_classes_say_what_they_are(file: SourceFile) -> Iterator[str]:
    """An empty `__init__.py` of the tests says it with its folder's name."""
    if file.text and not docstring_lines(file.tree):
        yield file.at(1, "the module has no docstring")
    if not file.text and file.is_in(PACKAGE):
        yield file.at(1, "the package has no docstring")
    if not file.is_in(PACKAGE):
        return
    for node in _public_classes(file.tree):
        if not docstring_lines(node):
            yield file.at(node, f"class {node.name} has no docstring")


def packages_hold_no_code(file: SourceFile) -> Iterator[str]:
    """`__init__.py` holds a docstring and re-exports; of some also lazy names, and the version."""
    if not file.path.endswith("__init__.py"):
        return
    for node in file.tree.body:
        if not _belongs_in_a_package(node, is_root=file.path in LAZY_PACKAGES):
            yield file.at(node, "more than a docstring and re-exports")


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or dotted(kind) in {"Exception", "BaseException"} for kind in caught)


def _public_classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node
            todo.extend(node.body)


def _belongs_in_a_package(node: ast.stmt, *, is_root: bool) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {dotted(target) for target in targets} <= (
            {"__all__", "__version__", "TYPE_CHECKING"} if is_root else {"__all__"}
        )
    if is_root and isinstance(node, FunctionNode):
        return node.name in {"__getattr__", "__dir__"}
    return (
        is_root
        and isinstance(node, ast.If)
        and dotted(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
    )
