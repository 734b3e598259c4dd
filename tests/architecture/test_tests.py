"""The tests keep their own rules, and each rule finds what it is there to find."""

import inspect

import pytest

from tests.architecture import testing_rules
from tests.architecture.source_tree import ROOT, SourceFile, python_files
from tests.architecture.style_rules import Rule

RULES: list[Rule] = [
    testing_rules.our_own_code_is_not_replaced,
    testing_rules.no_test_is_excused,
    testing_rules.every_assertion_can_fail,
    testing_rules.no_test_waits_by_the_clock,
    testing_rules.every_file_proves_a_requirement,
]

# Some words are written in halves, so that a search for them finds no test that really does it.
BREACHES: list[tuple[Rule, str]] = [
    (testing_rules.our_own_code_is_not_replaced, "from unittest.mock import patch"),
    (testing_rules.our_own_code_is_not_replaced, "from unittest import mock"),
    (testing_rules.our_own_code_is_not_replaced, "def test_it(mocker): ..."),
    (
        testing_rules.our_own_code_is_not_replaced,
        "monkeypatch.setattr('runlore.domain.record.publish', None)",
    ),
    (
        testing_rules.our_own_code_is_not_replaced,
        "from runlore.flow import review\nmonkeypatch.setattr(review, 'a', 1)",
    ),
    (
        testing_rules.our_own_code_is_not_replaced,
        "import runlore.flow as f\nsetattr(f.review, 'decide', None)",
    ),
    (testing_rules.no_test_is_excused, "@pytest.mark." + "skip\ndef test_it(): ..."),
    (testing_rules.no_test_is_excused, "@pytest.mark." + "xfail(reason='later')\ndef test_it(): ..."),
    (testing_rules.no_test_is_excused, "def test_it():\n    pytest." + "skip('not here')"),
    (testing_rules.no_test_is_excused, "psycopg = pytest.importorskip('psycopg')"),
    (testing_rules.no_test_is_excused, "from pytest import skip"),
    (testing_rules.every_assertion_can_fail, "assert " + "True"),
    (testing_rules.every_assertion_can_fail, "assert (a == b, 'they differ')"),
    (testing_rules.no_test_waits_by_the_clock, "import time\ntime.sleep(1)"),
    (testing_rules.no_test_waits_by_the_clock, "from time import sleep"),
    (testing_rules.no_test_waits_by_the_clock, "assert begun.wait(20)"),
    (testing_rules.no_test_waits_by_the_clock, "asked.result(timeout=30)"),
    (testing_rules.every_file_proves_a_requirement, "def test_it(): ..."),
]

LEGAL: list[tuple[Rule, str]] = [
    (testing_rules.our_own_code_is_not_replaced, "monkeypatch.setenv('RUNLORE_HOME', 'x')"),
    (testing_rules.our_own_code_is_not_replaced, "import os\nmonkeypatch.setattr(os, 'fsync', fails)"),
    (testing_rules.our_own_code_is_not_replaced, "client.patch('/v1/records/1')"),
    (testing_rules.no_test_is_excused, "pytest.fail('PostgreSQL is missing')"),
    (testing_rules.every_assertion_can_fail, "assert found == True"),
    (testing_rules.no_test_waits_by_the_clock, "import time\ntime.monotonic()"),
    (testing_rules.no_test_waits_by_the_clock, "assert not begun.wait(0.2)"),
    (testing_rules.no_test_waits_by_the_clock, "assert begun.wait(PATIENCE_S)"),
    (testing_rules.every_file_proves_a_requirement, "@pytest.mark.req('REC-1')\ndef test_it(): ..."),
    (testing_rules.every_file_proves_a_requirement, "pytestmark = pytest.mark.req('REC-1')"),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tests_keep_the_rule(rule: Rule) -> None:
    found = [finding for file in python_files("tests") for finding in rule(file)]

    assert not found, f"{inspect.getdoc(rule)}\n" + "\n".join(found)


def test_only_files_that_exist_are_listed() -> None:
    listed = testing_rules.WITHOUT_REQUIREMENT | testing_rules.MAY_BE_EXCUSED

    assert [path for path in listed if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(("rule", "text"), BREACHES)
def test_a_rule_finds_what_breaks_it(rule: Rule, text: str) -> None:
    assert list(rule(SourceFile.parse("tests/flow/test_planted.py", text)))


@pytest.mark.parametrize(("rule", "text"), LEGAL)
def test_a_rule_lets_pass_what_keeps_it(rule: Rule, text: str) -> None:
    assert not list(rule(SourceFile.parse("tests/flow/test_planted.py", text)))


@pytest.mark.parametrize(
    ("marks", "is_found"), [("pytest.mark.soak", False), ("pytest.mark.req('AGT-6')", True)]
)
def test_what_may_be_excused_is_in_the_long_rings(marks: str, is_found: bool) -> None:
    path = min(testing_rules.MAY_BE_EXCUSED)
    text = f"pytestmark = [{marks}]\ndef test_it():\n    pytest." + "skip('no key')"

    assert bool(list(testing_rules.no_test_is_excused(SourceFile.parse(path, text)))) is is_found


def test_every_rule_is_shown_to_find_something() -> None:
    assert {rule for rule, _ in BREACHES} == set(RULES)
