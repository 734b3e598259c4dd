"""What tests may not do here, one function each; they read the files of `tests/`."""

import ast
from collections.abc import Iterator

from scripts.requirements_page import marks
from tests.architecture.source_tree import SourceFile, dotted

MOCKING = frozenset({"unittest.mock", "mock", "pytest_mock"})
EXCUSES = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "xfail", "importorskip", "expectedFailure", "SkipTest"}
)
# What needs a key, or packages that not every machine can be given; it says in the summary what is missing.
MAY_BE_EXCUSED = frozenset({"tests/proof/test_coverage_fuzz.py", "tests/stories/test_real_models.py"})
WAITS_FOR = frozenset({"timeout", "within_s"})
PATIENCE_S_MIN = 120
REPLACING = frozenset({"setattr", "delattr", "setitem", "delitem"})

# Files about the project itself or about the tests' own tools prove no requirement of the product.
WITHOUT_REQUIREMENT = frozenset(
    {
        "tests/architecture/test_bench_runner.py",
        "tests/architecture/test_import_contracts.py",
        "tests/architecture/test_names.py",
        "tests/architecture/test_repository.py",
        "tests/architecture/test_setup.py",
        "tests/architecture/test_style_budgets.py",
        "tests/architecture/test_tests.py",
        "tests/architecture/test_tools.py",
        "tests/storage/postgres/test_postgres_server.py",
    }
)


def our_own_code_is_not_replaced(file: SourceFile) -> Iterator[str]:
    """A fake implements a port and is handed in; a test that patches our code tests the patch."""
    own = _own_names(file)
    for node in file.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and MOCKING.intersection(_modules(node)):
            yield file.at(node, "imports a mocking library")
        elif isinstance(node, ast.arg) and node.arg == "mocker":
            yield file.at(node.lineno, "asks for a mocking fixture")
        elif isinstance(node, ast.Call) and _replaces(node) and node.args and _is_own(node.args[0], own):
            yield file.at(node, f"replaces a part of {ast.unparse(node.args[0])}")


def no_test_is_excused(file: SourceFile) -> Iterator[str]:
    """A test that may not run proves nothing: what it needs is installed, or it fails. What may be excused
    is in the long rings alone."""
    if file.path in MAY_BE_EXCUSED:
        if not _is_in_the_long_rings(file.tree):
            yield file.at(1, "may be excused, and is not in the long rings")
        return
    for node in file.nodes:
        if isinstance(node, ast.Attribute | ast.Name) and dotted(node).rpartition(".")[2] in EXCUSES:
            yield file.at(node, f"{dotted(node)} excuses a test")
        elif isinstance(node, ast.ImportFrom) and EXCUSES.intersection(alias.name for alias in node.names):
            yield file.at(node, "imports an excuse")


def every_assertion_can_fail(file: SourceFile) -> Iterator[str]:
    """A constant, or a pair with a message inside its brackets, is always true."""
    for node in file.nodes:
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant | ast.Tuple | ast.JoinedStr):
            yield file.at(node, f"assert {ast.unparse(node.test)} says nothing")


def no_test_waits_by_the_clock(file: SourceFile) -> Iterator[str]:
    """Sleeping is too long on a fast machine and too short on a slow one: wait for what happens."""
    for node in file.nodes:
        if isinstance(node, ast.Attribute) and dotted(node) == "time.sleep":
            yield file.at(node, "sleeps")
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (file.at(node, "imports sleep") for alias in node.names if alias.name == "sleep")
        elif isinstance(node, ast.Call) and (seconds := _impatient_s(node)) is not None:
            yield file.at(node, f"gives up after {seconds:g} s; PATIENCE_S of tests/waiting.py is for that")


def every_file_proves_a_requirement(file: SourceFile) -> Iterator[str]:
    """Each test file names at least one, with `@pytest.mark.req`, or is listed as being about the project."""
    if not file.path.rpartition("/")[2].startswith("test_"):
        return
    proves = any(True for _ in marks(file.tree))
    if not proves and file.path not in WITHOUT_REQUIREMENT:
        yield file.at(1, "no test here names a requirement")
    if proves and file.path in WITHOUT_REQUIREMENT:
        yield file.at(1, "names a requirement and is listed as naming none")


def _impatient_s(call: ast.Call) -> float | None:
    """For how long a call waits for another thread or process, where a busy machine can take that long. What
    waits up to a second waits for nothing to happen."""
    said = [each.value for each in call.keywords if each.arg in WAITS_FOR]
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("wait", "join"):
        said += call.args
    for each in said:
        seconds = each.value if isinstance(each, ast.Constant) else None
        if isinstance(seconds, int | float) and 1 < seconds < PATIENCE_S_MIN:
            return seconds
    return None


def _is_in_the_long_rings(tree: ast.Module) -> bool:
    marks_of_all = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [dotted(each) for each in node.targets] == ["pytestmark"]
    ]
    return any(dotted(node) == "pytest.mark.soak" for each in marks_of_all for node in ast.walk(each))


def _modules(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {node.module or ""} | {f"{node.module}.{name}" for name in names}
    return names


def _own_names(file: SourceFile) -> set[str]:
    """The names by which the file knows parts of the package."""
    own = {"runlore"}
    for node in file.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and any(
            module.partition(".")[0] == "runlore" for module in _modules(node)
        ):
            own.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    return own


def _replaces(call: ast.Call) -> bool:
    name = dotted(call)
    if name.partition(".")[0] == "monkeypatch":
        return name.rpartition(".")[2] in REPLACING
    return name == "setattr"


def _is_own(target: ast.expr, own: set[str]) -> bool:
    if isinstance(target, ast.Constant) and isinstance(target.value, str):
        return target.value.partition(".")[0] == "runlore"
    return dotted(target).partition(".")[0] in own
