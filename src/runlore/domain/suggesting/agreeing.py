"""Values that have to agree: one that is another with something constant around it is no parameter.

`app=shop:1.2` beside `shop:1.2` is `app=<image>`, and `infra/prod` beside `prod.tfvars` are `infra/<env>` and
`<env>.tfvars`. That holds where it does in every occurrence, and these had more than one value.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from runlore.domain.suggesting.value_names import ANY_VALUE, name_of_look

Values = tuple[str, ...]
# What may stand around a parameter without quotes.
_AROUND = re.compile(r"^[\w./:=@%+,-]{0,120}$")
_INSIDE = re.compile(r"^[\w./:=@+-]{1,200}$")
_PROSE = frozenset({"message", "body", "title", "text", "query", "code", "data"})
_VALUES_MAX = 64
_PLACES_MAX = 40
_BREAKS = "/:=@._-+,"
_NUMBERS = re.compile(r"[\d.]*\d\.?$"), re.compile(r"^\.?\d[\d.]*")


class Part(NamedTuple):
    """What a value is made of: the values of the parameter in it, its wanted name, and what is around."""

    before: str
    values: Values
    name: str
    after: str


def agreeing(names: Mapping[Values, str]) -> dict[Values, Part]:
    """Of the values at each place and their wanted names, those that are made of others."""
    told = ((values, name) for values, name in names.items() if _is_plain(values, name))
    plain = dict(islice(told, _PLACES_MAX))
    found: dict[Values, Part] = {}
    by_length = sorted(plain, key=lambda values: (max(map(len, values)), len(values)))
    for place, values in enumerate(by_length):
        for base in by_length[:place]:
            if base not in found and (around := _around(base, values)) is not None:
                found[values] = Part(before=around[0], values=base, name=plain[base], after=around[1])
                break
    based = {part.values for part in found.values()}
    cores: dict[Values, list[tuple[Values, str, str]]] = {}
    for values in plain:
        if values not in found and values not in based and (core := _core(values)) is not None:
            cores.setdefault(core[0], []).append((values, core[1], core[2]))
    for inner, several in cores.items():
        if len(several) > 1:
            name = name_of_look(inner)
            wanted = name if name != ANY_VALUE else "name"
            found.update({values: Part(before, inner, wanted, after) for values, before, after in several})
    return found


def _is_plain(values: Values, name: str) -> bool:
    is_several = len(set(values)) > 1 and len(values) <= _VALUES_MAX
    return is_several and name.partition("-")[0] not in _PROSE and all(map(_INSIDE.match, values))


def _around(base: Values, values: Values) -> tuple[str, str] | None:
    """What stands around the values of another place in these, the same every time; None where it does not.
    Where one place was seen more often than the other, all the values that there were have to agree."""
    inner = min(base, key=len)
    for value in dict.fromkeys(values):
        at = value.rfind(inner)
        before, after = value[:at], value[at + len(inner) :]
        if at < 0 or not (_AROUND.match(before) and _AROUND.match(after)):
            continue
        made = tuple(f"{before}{each}{after}" for each in base)
        if made == values or (len(made) != len(values) and set(made) == set(values) and made != base):
            return before, after
    return None


def _core(values: Values) -> tuple[Values, str, str] | None:
    """What differs between values, whole words of it, and what is around; None where that says nothing."""
    before = _beginning(values)
    before = before[: max((before.rfind(sign) for sign in _BREAKS), default=-1) + 1]
    rests = [value[len(before) :] for value in values]
    after = _beginning([rest[::-1] for rest in rests])[::-1]
    starts = [at for sign in _BREAKS if (at := after.find(sign)) >= 0]
    after = after[min(starts) :] if starts else ""
    before, after = _with_numbers(before, after, rests)
    core = tuple(value[len(before) : len(value) - len(after)] for value in values)
    is_telling = (
        all(core) and (before or after) and all(any(map(str.isalpha, each)) or "." in each for each in core)
    )
    return (core, before, after) if is_telling and _AROUND.match(before) and _AROUND.match(after) else None


def _beginning(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    low, high = min(texts), max(texts)
    same = next(
        (at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low)
    )
    return low[:same]


def _with_numbers(before: str, after: str, rests: Sequence[str]) -> tuple[str, str]:
    """A version is one word, though its parts are apart."""
    if not all(rest[: len(rest) - len(after)].isdigit() for rest in rests):
        return before, after
    return _NUMBERS[0].sub("", before), _NUMBERS[1].sub("", after)
