"""How things are named: functions are verbs, and one public class name stands for one thing.

Rooms that were not renamed yet have a number, or stand in a list. Both may only shrink.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from tests.architecture.source_tree import PACKAGE, FunctionNode, SourceFile, dotted, functions

# Irregular participles. Those that are also the verb's own form (`read`, `put`, `run`, `set`) are no fault.
_IRREGULAR = frozenset(
    [
        "begun",
        "bound",
        "brought",
        "built",
        "caught",
        "chosen",
        "done",
        "drawn",
        "driven",
        "fallen",
        "forgotten",
        "found",
        "frozen",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "hidden",
        "kept",
        "known",
        "laid",
        "led",
        "left",
        "lent",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "said",
        "seen",
        "sent",
        "shown",
        "spent",
        "spoken",
        "stood",
        "stuck",
        "taken",
        "taught",
        "thrown",
        "told",
        "undone",
        "understood",
        "unknown",
        "unread",
        "worn",
        "written",
    ]
)
_VERBS_IN_ED = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed"})
_VALUES = frozenset({"property", "cached_property"})

# How many functions of each room are a bare participle. Lower it with each that gets a verb.
PARTICIPLES_LEFT: Mapping[str, int] = {}

# Public class names that stand in two modules or more. Take one off when it has a single home.
DOUBLED_CLASSES_LEFT = frozenset(
    [
        "Finding",
        "Score",
    ]
)


def count_participles(files: Iterable[SourceFile]) -> dict[str, int]:
    """How many functions of each room are a bare participle."""
    return Counter(room_of(file) for file in files for function in functions(file) if is_participle(function))


def is_participle(function: FunctionNode) -> bool:
    """Whether a function's name is one participle and nothing else. A property is a value, and may be."""
    if {dotted(decorator) for decorator in function.decorator_list} & _VALUES:
        return False
    name = function.name.strip("_")
    return name in _IRREGULAR or ("_" not in name and name.endswith("ed") and name not in _VERBS_IN_ED)


def doubled_classes(files: Iterable[SourceFile]) -> dict[str, list[str]]:
    """The public classes at the top of two modules or more, with where they stand."""
    homes: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(file.path)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


def room_of(file: SourceFile) -> str:
    """The folder below the package, or the module where it lies in none."""
    return PurePosixPath(file.path).relative_to(PACKAGE).parts[0]


_DOTTED = re.compile(r"`(?:runlore\.)?([a-z_]+(?:\.\w+)+)(?:\(\))?`")
_ENDINGS = frozenset({"toml", "md", "json", "sock", "lock", "token", "died"})


def names_of_nothing(files: Iterable[SourceFile]) -> list[str]:
    """What texts between backticks call a module of ours, or something in one, and is none."""
    texts = {module_of(file): file.text for file in files}
    areas = {module.partition(".")[0] for module in texts}
    found: list[str] = []
    for file in files:
        for number, line in enumerate(file.text.splitlines(), start=1):
            for name in _DOTTED.findall(line):
                home, _, last = name.rpartition(".")
                is_ours = name.partition(".")[0] in areas and last not in _ENDINGS
                is_there = name in texts or re.search(rf"\b{last}\b", texts.get(home, ""))
                if is_ours and not is_there:
                    found.append(file.at(number, name))
    return found


def module_of(file: SourceFile) -> str:
    """`domain.record`, and `domain.guard` for the file of a package."""
    path = file.path.removeprefix("src/runlore/").removesuffix(".py").removesuffix("/__init__")
    return path.replace("/", ".")
