"""The filter of calls, run step by step as the kernel does, against what it is meant to say."""

import errno
import struct
from functools import cache
from itertools import product

import pytest

from runlore.agents.workspace.seccomp import call_filter

pytestmark = pytest.mark.req("AGT-4")

ALLOWED, FAILING = 0x7FFF0000, 0x00050000
NOT_THERE, DENIED, CLOSED = (FAILING | number for number in (errno.ENOSYS, errno.EPERM, errno.EACCES))
X86_64, I386, ARM_64, ARM, RISCV_64 = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028, 0xC00000F3
UNKNOWN = 0x80000016
WATCHER, GROUP, ALL = 4_242, (1 << 32) - 4_242, (1 << 32) - 1
# From the kernel's own tables.
NAMES = (
    *("socket", "socketpair", "add_key", "request_key", "keyctl", "prlimit64", "setpriority", "ioctl"),
    *("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr", "fcntl", "fcntl64"),
    *("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"),
)
OF_64 = (41, 53, 248, 249, 250, 302, 141, 16, 142, 144, 203, 314, 72, 72, 62, 200, 234, 129, 297)
OF_32 = (359, 360, 286, 287, 288, 340, 97, 54, 154, 156, 241, 351, 55, 221, 37, 238, 270, 178, 335)
OF_ARM = (281, 288, 309, 310, 311, 369, 97, 54, 154, 156, 241, 380, 55, 221, 37, 238, 268, 178, 363)
GENERIC = (198, 199, 217, 218, 219, 261, 140, 29, 118, 119, 122, 274, 25, 25, 129, 130, 131, 138, 240)
CALLS = {
    processor: dict(zip(numbers, NAMES, strict=True))
    for processor, numbers in (
        (X86_64, OF_64),
        (I386, OF_32),
        (ARM_64, GENERIC),
        (ARM, OF_ARM),
        (RISCV_64, GENERIC),
    )
}
FAMILIES = range(46)


@cache
def steps_of(*, local_sockets: bool, signals: bool) -> list[tuple[int, int, int, int]]:
    """The program, taken apart."""
    program = call_filter(WATCHER, local_sockets=local_sockets, signals=signals)
    return [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]


def said(
    processor: int, number: int, told: tuple[int, ...], *, local: bool = False, unkept: bool = True
) -> int:
    """What the program says of a call."""
    steps = steps_of(local_sockets=local, signals=unkept)
    data = struct.pack("=IIQQQQ", number, processor, 0, *told)
    at = loaded = 0
    while True:
        act, then, otherwise, value = steps[at]
        at += 1
        if act == 0x20:
            (loaded,) = struct.unpack_from("=I", data, value)
        elif act == 0x54:
            loaded &= value
        elif act == 0x06:
            return int(value)
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value}[act]
            at += then if holds else otherwise


def meant(processor: int, number: int, told: tuple[int, ...], *, local: bool, unkept: bool) -> int:
    """What it should say."""
    if processor == UNKNOWN:
        return ALLOWED
    name = CALLS[processor].get(number, "")
    if (processor == X86_64 and number >= 0x40000000) or name in ("add_key", "request_key", "keyctl"):
        return NOT_THERE
    if _is_about_others(name, told) or (unkept and _signals_the_watcher(name, told)):
        return DENIED
    if (number == 424 and unkept) or (number == 425 and not local):
        return NOT_THERE
    return CLOSED if not local and _is_a_socket(processor, number, told) else ALLOWED


def _is_about_others(name: str, told: tuple[int, ...]) -> bool:
    return (
        (name == "prlimit64" and told[0] != 0)
        or (name == "setpriority" and (told[0] == 2 or told[1] == WATCHER))
        or (name.startswith("sched_") and told[0] == WATCHER)
    )


def _signals_the_watcher(name: str, told: tuple[int, ...]) -> bool:
    return (
        ("kill" in name and told[0] in (WATCHER, GROUP, ALL))
        or ("sigqueueinfo" in name and told[0] in (WATCHER, GROUP, ALL))
        or (name.startswith("fcntl") and (told[1] == 15 or (told[1] == 8 and told[2] in (WATCHER, GROUP))))
        or (name == "ioctl" and told[1] in (0x8901, 0x8902))
    )


def _is_a_socket(processor: int, number: int, told: tuple[int, ...]) -> bool:
    name = CALLS[processor].get(number, "")
    return (
        (name == "socket" and told[0] not in (2, 10, 16))
        or (name == "socketpair" and told[1] & 0xF == 2)
        or (number == 102 and processor in (I386, ARM) and told[0] in (1, 8))
    )


@pytest.mark.parametrize("processor", [*CALLS, UNKNOWN], ids=hex)
def test_it_says_what_it_is_meant_to_of_every_call(processor: int) -> None:
    numbers = [*range(600), 0x40000000, 0x40000029, 0xFFFFFFFF]
    told = [(0, 0, 0), (1, 1, 0), (2, 2, 0), (8, 0x80002, 0), (1, 15, 0), (1, 0x8901, 0), (1, 0x8902, 0)]
    told += [
        (0, WATCHER, 0),
        (0, 8, WATCHER),
        (0, 8, GROUP),
        (0, 8, 7),
        (WATCHER, 0, 0),
        (GROUP, 0, 0),
        (ALL, 0, 0),
    ]
    known = {102, 424, 425, *CALLS.get(processor, ())}

    wrong = [
        (number, each, local, unkept)
        for number, local, unkept in product(numbers, (False, True), (False, True))
        for each in (told if number in known else [(WATCHER, WATCHER, WATCHER)])
        if said(processor, number, each, local=local, unkept=unkept)
        != meant(processor, number, each, local=local, unkept=unkept)
    ]

    assert wrong == []


@pytest.mark.parametrize("processor", CALLS, ids=hex)
def test_of_all_kinds_of_sockets_only_those_of_the_internet_are_left(processor: int) -> None:
    number = next(number for number, name in CALLS[processor].items() if name == "socket")
    left = [family for family in FAMILIES if said(processor, number, (family, 1, 0)) == ALLOWED]

    assert left == [2, 10, 16]
    # The kernel looks at the lower half of the word alone, and so does the filter.
    assert said(processor, number, ((1 << 32) | 1, 1, 0)) == CLOSED
