"""The code keeps to the budgets of CONTRIBUTING.md, and each rule finds what it is there to find."""

import inspect

import pytest

from tests.architecture import style_rules
from tests.architecture.import_graph import find_cycle, import_graph
from tests.architecture.source_tree import PACKAGE, SourceFile, python_files
from tests.architecture.style_rules import Rule

EVERYTHING = (PACKAGE, "tests", "bench", "scripts")

RULES: dict[Rule, tuple[str, ...]] = {
    style_rules.modules_are_short: EVERYTHING,
    style_rules.functions_are_short: EVERYTHING,
    style_rules.parameters_are_few: (PACKAGE, "bench", "scripts"),
    style_rules.imports_stand_at_the_top: (PACKAGE,),
    style_rules.no_exception_is_swallowed_without_a_why: EVERYTHING,
    style_rules.nothing_is_left_unfinished: EVERYTHING,
    style_rules.every_name_has_a_home: EVERYTHING,
    style_rules.the_core_is_fully_typed: (PACKAGE,),
    style_rules.the_core_is_handed_the_time: (PACKAGE,),
    style_rules.the_core_has_one_colour: (PACKAGE,),
    style_rules.modules_and_classes_say_what_they_are: EVERYTHING,
    style_rules.packages_hold_no_code: (PACKAGE, "tests"),
}

LONG_FUNCTION = "def long():\n" + "    print()\n" * 60
SEVEN = "a, b, *, c, d, e, f, g"

# What breaks each rule, and what looks like it and does not.
BREACHES: list[tuple[Rule, str, str]] = [
    (style_rules.modules_are_short, "flow/long.py", "\n" * 501),
    (style_rules.functions_are_short, "flow/long.py", LONG_FUNCTION),
    (style_rules.parameters_are_few, "flow/many.py", f"def many({SEVEN}, h): ..."),
    (style_rules.parameters_are_few, "flow/many.py", "def many(a, b, c, d, e): ..."),
    (style_rules.imports_stand_at_the_top, "daemon/app.py", "def start():\n    import json"),
    (
        style_rules.no_exception_is_swallowed_without_a_why,
        "api/a.py",
        "try:\n  f()\nexcept Exception:\n  g()",
    ),
    (style_rules.no_exception_is_swallowed_without_a_why, "api/a.py", "try:\n  f()\nexcept:  # why\n  pass"),
    (style_rules.no_exception_is_swallowed_without_a_why, "api/a.py", "try: f()\nexcept (A, Exception): g()"),
    (style_rules.nothing_is_left_unfinished, "flow/later.py", "# TO" + "DO: the rest"),
    (style_rules.nothing_is_left_unfinished, "flow/later.py", "raise NotImplemented" + "Error('later')"),
    (style_rules.every_name_has_a_home, "storage/sql_helpers.py", ""),
    (style_rules.every_name_has_a_home, "common/thing.py", ""),
    (style_rules.the_core_is_fully_typed, "domain/loose.py", "def f(a: dict[str, Any]): ..."),
    (style_rules.the_core_is_handed_the_time, "flow/late.py", "now = datetime.now(UTC)"),
    (style_rules.the_core_has_one_colour, "storage/later.py", "async def read(): ..."),
    (style_rules.modules_and_classes_say_what_they_are, "flow/mute.py", "VALUE = 1"),
    (style_rules.modules_and_classes_say_what_they_are, "flow/__init__.py", ""),
    (style_rules.modules_and_classes_say_what_they_are, "flow/mute.py", '"""A."""\nclass Mute: ...'),
    (style_rules.packages_hold_no_code, "flow/__init__.py", "def work(): ..."),
    (style_rules.packages_hold_no_code, "flow/__init__.py", "LIMIT = 5"),
]

LEGAL: list[tuple[Rule, str, str]] = [
    (style_rules.modules_are_short, "flow/long.py", "\n" * 500),
    (
        style_rules.functions_are_short,
        "flow/long.py",
        LONG_FUNCTION.replace("    print()\n", '    """A."""\n', 1),
    ),
    (style_rules.parameters_are_few, "flow/many.py", f"def seven({SEVEN}): ..."),
    (style_rules.parameters_are_few, "flow/many.py", "def four(self, a, b, c, d): ..."),
    (style_rules.parameters_are_few, "flow/many.py", "def four_and_one(a, b, c, d, *, e): ..."),
    (style_rules.parameters_are_few, "cli/many.py", f"@command(memory, 'x')\ndef command({SEVEN}, h): ..."),
    (style_rules.parameters_are_few, "cli/many.py", f"@app.command('x')\ndef command({SEVEN}, h): ..."),
    (style_rules.imports_stand_at_the_top, "cli/memory.py", "def start():\n    import json"),
    (style_rules.imports_stand_at_the_top, "storage/open.py", "def start():\n    import psycopg"),
    (
        style_rules.no_exception_is_swallowed_without_a_why,
        "daemon/a.py",
        "try:\n  f()\nexcept Exception:\n  # One bad job must not end the worker.\n  g()",
    ),
    (style_rules.no_exception_is_swallowed_without_a_why, "api/a.py", "try: f()\nexcept Exception: raise"),
    (style_rules.every_name_has_a_home, "domain/baseline.py", ""),
    (style_rules.the_core_is_fully_typed, "api/loose.py", "def f(a: dict[str, Any]): ..."),
    (style_rules.the_core_is_handed_the_time, "daemon/clock.py", "now = datetime.now(UTC)"),
    (style_rules.the_core_has_one_colour, "api/routes.py", "async def read(): ..."),
    (style_rules.modules_and_classes_say_what_they_are, "flow/a.py", '"""A."""\nclass _Inner: ...'),
    (style_rules.packages_hold_no_code, "flow/__init__.py", '"""A."""\nfrom b import c\n__all__ = ["c"]'),
    (
        style_rules.packages_hold_no_code,
        "__init__.py",
        '"""A."""\n__version__ = "1"\ndef __getattr__(n): ...',
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_code_keeps_the_rule(rule: Rule) -> None:
    found = [finding for file in python_files(*RULES[rule]) for finding in rule(file)]

    assert not found, f"{inspect.getdoc(rule)}\n" + "\n".join(found)


def test_no_module_imports_itself_in_a_circle() -> None:
    assert find_cycle(import_graph(python_files(PACKAGE))) == []


@pytest.mark.parametrize(("rule", "path", "text"), BREACHES)
def test_a_rule_finds_what_breaks_it(rule: Rule, path: str, text: str) -> None:
    assert list(rule(SourceFile.parse(f"{PACKAGE}/{path}", text)))


@pytest.mark.parametrize(("rule", "path", "text"), LEGAL)
def test_a_rule_lets_pass_what_keeps_it(rule: Rule, path: str, text: str) -> None:
    assert not list(rule(SourceFile.parse(f"{PACKAGE}/{path}", text)))


def test_every_rule_is_shown_to_find_something() -> None:
    assert {rule for rule, _, _ in BREACHES} == set(RULES)


@pytest.mark.parametrize(
    "importing",
    ["import runlore.a", "from runlore import a", "from . import a", "def f():\n  import runlore.a"],
)
def test_a_circle_of_imports_is_found_however_it_is_written(importing: str) -> None:
    files = (
        SourceFile.parse(f"{PACKAGE}/a.py", "from runlore.b import thing"),
        SourceFile.parse(f"{PACKAGE}/b.py", importing),
    )

    assert set(find_cycle(import_graph(files))) == {"runlore.a", "runlore.b"}


def test_imports_for_types_alone_make_no_circle() -> None:
    files = (
        SourceFile.parse(f"{PACKAGE}/a.py", "from runlore.b import thing"),
        SourceFile.parse(f"{PACKAGE}/b.py", "if TYPE_CHECKING:\n  from runlore.a import other"),
    )

    assert find_cycle(import_graph(files)) == []
