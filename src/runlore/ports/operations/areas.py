"""Where operations and their values are declared: an area is loaded with the first of them that is asked for.

Which names an area has is read off its source, in a thousandth of a second: loading all areas to ask them
would cost a command more than everything else that it does.
"""

import re
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import InspectLoader

# In the order of the API's document.
AREAS = (
    *("sessions", "agent", "records", "review", "learning", "library", "projection", "radar", "rollouts"),
    *("service", "hooks", "skills", "worth"),
)
_OPERATION = re.compile(r"\n    @Operation\(.*?\n    def (\w+)", re.DOTALL)
_CLASS = re.compile(r"\nclass (\w+)")


def _read(area: str) -> str:
    spec = find_spec(f"runlore.ports.operations.{area}")
    assert spec is not None, "an area is a module"
    return cast("InspectLoader", spec.loader).get_source(spec.name) or ""


_SOURCES = {area: _read(area) for area in AREAS}
AREA_OF_OPERATION = {name: area for area in AREAS for name in _OPERATION.findall(_SOURCES[area])}
# Requests, answers and protocols, and the few values that are no class of an area.
AREA_OF_VALUE = {name: area for area in AREAS for name in _CLASS.findall(_SOURCES[area])} | {
    "FeedbackVerdict": "learning",
    "OPERATIONS": "declaration",
    "Operations": "operations",
    "Progress": "progress",
    "UNSET": "sessions",
    "UnsetType": "sessions",
    "ignore_progress": "progress",
}


def load_area(area: str) -> ModuleType:
    return import_module(f"runlore.ports.operations.{area}")
