"""Functions are verbs, and a public class name has one home: what is left of others only shrinks."""

import pytest

from tests.architecture import naming_rules
from tests.architecture.source_tree import PACKAGE, SourceFile, functions, python_files


def test_no_room_gets_another_function_that_is_a_bare_participle() -> None:
    files = python_files(PACKAGE)
    left = naming_rules.PARTICIPLES_LEFT
    grown = {
        room: count
        for room, count in naming_rules.count_participles(files).items()
        if count > left.get(room, 0)
    }

    named = [
        file.at(function, function.name)
        for file in files
        if naming_rules.room_of(file) in grown
        for function in functions(file)
        if naming_rules.is_participle(function)
    ]
    assert not grown, "a function is a verb: tell_run, not told\n" + "\n".join(named)


def test_no_further_public_class_name_stands_in_two_modules() -> None:
    doubled = naming_rules.doubled_classes(python_files(PACKAGE))

    new = {name: homes for name, homes in doubled.items() if name not in naming_rules.DOUBLED_CLASSES_LEFT}
    assert not new, new


def test_a_module_that_a_text_names_is_there() -> None:
    assert naming_rules.names_of_nothing(python_files(PACKAGE)) == []


def test_a_name_of_a_module_that_is_gone_is_found() -> None:
    there = SourceFile.parse(f"{PACKAGE}/flow/a.py", "def keep(): ...")
    text = '"""`flow.a.keep` and `flow.a` are there; `flow.b`, `runlore.flow.a.gone` are not."""'
    naming = SourceFile.parse(f"{PACKAGE}/flow/c.py", text)

    found = naming_rules.names_of_nothing([there, naming])

    assert [each.rpartition(" ")[2] for each in found] == ["flow.b", "flow.a.gone"]


@pytest.mark.parametrize("name", ["told", "_made", "opened", "unread", "checked"])
def test_a_bare_participle_is_found(name: str) -> None:
    file = SourceFile.parse(f"{PACKAGE}/flow/a.py", f"class A:\n    def {name}(self): ...")

    assert naming_rules.count_participles([file]) == {"flow": 1}


@pytest.mark.parametrize(
    "text",
    [
        "def read(): ...",
        "def embed(): ...",
        "def told_run(): ...",
        "class A:\n    @property\n    def omitted(self): ...",
    ],
)
def test_a_verb_and_a_value_are_none(text: str) -> None:
    assert naming_rules.count_participles([SourceFile.parse(f"{PACKAGE}/flow/a.py", text)]) == {}


def test_a_public_class_name_in_two_modules_is_found() -> None:
    files = [
        SourceFile.parse(f"{PACKAGE}/flow/{name}.py", "class Place: ...\nclass _Inner: ...")
        for name in ("a", "b")
    ]

    assert list(naming_rules.doubled_classes(files)) == ["Place"]
