"""Which module of the package imports which, read from the files."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from tests.architecture.source_tree import PACKAGE, SourceFile, dotted


def import_graph(files: tuple[SourceFile, ...]) -> dict[str, set[str]]:
    """Every module with those it imports, at the top or when called; imports for types alone never run."""
    by_name = {module_name(file): file for file in files}
    return {
        name: {
            known
            for target in _targets(file, name)
            if (known := _known(target, by_name)) is not None and known != name
        }
        for name, file in by_name.items()
    }


def find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """One cycle, as the modules on it, the first again at the end; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def module_name(file: SourceFile) -> str:
    """`runlore.domain.record` for `src/runlore/domain/record.py`."""
    parts = file.path.removeprefix(PACKAGE.rpartition("/")[0] + "/").removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _targets(file: SourceFile, name: str) -> Iterator[str]:
    package = name if file.path.endswith("__init__.py") else name.rpartition(".")[0]
    for node in _running_nodes(file.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - (node.level - 1)] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def _running_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and dotted(child.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            for otherwise in child.orelse:
                yield from _running_nodes(otherwise)
            continue
        yield child
        yield from _running_nodes(child)


def _known(target: str, known: Mapping[str, SourceFile]) -> str | None:
    while target and target not in known:
        target = target.rpartition(".")[0]
    return target or None
