"""Which calls of the kernel a confined command may not make, as a program of the kernel's own filter.

The rules about files do not reach other processes. Whoever may change their limits ends them without a
signal, and whoever ends or starves the one that watches over a command lives on after it. So a command
changes no limits but its own, and does nothing to its watcher.

Nor do those rules reach sockets that have a name among the files: whoever may connect to one asks a process
outside to do what a command may not, and the user's bus, a container engine, a terminal multiplexer and a
key agent all do it. So a command is given no sockets but those of the internet, and pairs of them that lead
to each other and nowhere else. The calls through which the same could be had unseen, and those to the
kernel's store of keys, are as if the kernel had none.
"""

import errno
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_LOAD, _AND, _IS, _IS_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
# Where a call's number, the kind of processor it was made for, and the lower half of its arguments stand.
_NUMBER, _PROCESSOR, _ARGUMENTS = 0, 4, (16, 24, 32)
_FAMILIES = (int(socket.AF_INET), int(socket.AF_INET6), 16)
_KIND_OF_SOCKET, _DATAGRAMS = 0xF, 2
_IO_URING_SETUP, _PIDFD_SEND_SIGNAL = 425, 424
_SOCKETCALL, _SOCKETCALL_SOCKET, _SOCKETCALL_PAIR = 102, 1, 8
_ALL_OF_A_USER = 2
_EVERYBODY = 0xFFFFFFFF
# Further ways to name who gets a signal: F_SETOWN by its number, the others where this cannot look.
_SET_OWNER, _SET_OWNER_UNSEEN, _SET_OWNER_OF_SOCKET = 8, 15, (0x8901, 0x8902)
# The numbers of a further set of calls that some processors have begin here.
_OTHER_SET = 0x40000000


@dataclass(frozen=True, kw_only=True)
class _Processor:
    """The numbers of calls on one kind of processor. `scheduling` and `signals` are told first whom they
    are about."""

    kind: int
    socket: int
    pair: int
    keys: tuple[int, ...]
    limits: int
    priority: int
    scheduling: tuple[int, ...]
    signals: tuple[int, ...]
    control: tuple[int, ...]
    device: int
    has_socketcall: bool = False
    has_other_set: bool = False


# Programs of 32 bits run on machines of 64, so that both are there.
_PROCESSORS = (
    _Processor(
        kind=0xC000003E, socket=41, pair=53, keys=(248, 249, 250), limits=302, priority=141,
        scheduling=(142, 144, 203, 314), signals=(62, 200, 234, 129, 297), control=(72,), device=16,
        has_other_set=True,
    ),
    _Processor(
        kind=0x40000003, socket=359, pair=360, keys=(286, 287, 288), limits=340, priority=97,
        scheduling=(154, 156, 241, 351), signals=(37, 238, 270, 178, 335), control=(55, 221), device=54,
        has_socketcall=True,
    ),
    _Processor(
        kind=0xC00000B7, socket=198, pair=199, keys=(217, 218, 219), limits=261, priority=140,
        scheduling=(118, 119, 122, 274), signals=(129, 130, 131, 138, 240), control=(25,), device=29,
    ),
    _Processor(
        kind=0x40000028, socket=281, pair=288, keys=(309, 310, 311), limits=369, priority=97,
        scheduling=(154, 156, 241, 380), signals=(37, 238, 268, 178, 363), control=(55, 221), device=54,
        has_socketcall=True,
    ),
    _Processor(
        kind=0xC00000F3, socket=198, pair=199, keys=(217, 218, 219), limits=261, priority=140,
        scheduling=(118, 119, 122, 274), signals=(129, 130, 131, 138, 240), control=(25,), device=29,
    ),
)  # fmt: skip


def call_filter(watcher: int, *, local_sockets: bool = False, signals: bool = False) -> bytes:
    """The program for a command that a process watches over. On processors that it does not know it denies
    nothing. With `signals` it also keeps those from the watcher: where the kernel's other rules do not."""
    program = [_step(_LOAD, _PROCESSOR)]
    for processor in _PROCESSORS:
        rules = [_step(_LOAD, _NUMBER), *_rules(processor, watcher)]
        if signals:
            rules += _about_signals(processor, watcher)
        if not local_sockets:
            rules += _about_sockets(processor)
        rules.append(_step(_RETURN, _ALLOW))
        program += [_step(_IS, processor.kind, otherwise=len(rules)), *rules]
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _rules(processor: _Processor, watcher: int) -> Iterator[bytes]:
    if processor.has_other_set:
        yield from _deny(_IS_AT_LEAST, _OTHER_SET, errno.ENOSYS)
    for number in processor.keys:
        yield from _deny(_IS, number, errno.ENOSYS)
    # Its own limits are those of nobody in particular.
    yield from _where(processor.limits, 0, _step(_IS, 0, otherwise=1), _step(_RETURN, _ALLOW), _FORBIDDEN)
    yield from _where(processor.priority, 0, *_deny(_IS, _ALL_OF_A_USER, errno.EPERM), *_of(1, watcher))
    for number in processor.scheduling:
        yield from _where(number, 0, *_deny(_IS, watcher, errno.EPERM))


def _about_signals(processor: _Processor, watcher: int) -> Iterator[bytes]:
    group = -watcher & 0xFFFFFFFF
    yield from _deny(_IS, _PIDFD_SEND_SIGNAL, errno.ENOSYS)
    for number in processor.signals:
        denied = [_deny(_IS, who, errno.EPERM) for who in (watcher, group, _EVERYBODY)]
        yield from _where(number, 0, *(step for pair in denied for step in pair))
    for number in processor.control:
        rules = _of(2, watcher, group)
        named = (_step(_IS, _SET_OWNER, otherwise=len(rules)), *rules)
        yield from _where(number, 1, *_deny(_IS, _SET_OWNER_UNSEEN, errno.EPERM), *named)
    unseen = [_deny(_IS, asked, errno.EPERM) for asked in _SET_OWNER_OF_SOCKET]
    yield from _where(processor.device, 1, *(step for pair in unseen for step in pair))


def _about_sockets(processor: _Processor) -> Iterator[bytes]:
    yield from _deny(_IS, _IO_URING_SETUP, errno.ENOSYS)
    if processor.has_socketcall:
        # What kind of socket it asks for stands where this cannot look.
        asked = [_deny(_IS, call, errno.EACCES) for call in (_SOCKETCALL_SOCKET, _SOCKETCALL_PAIR)]
        yield from _where(_SOCKETCALL, 0, *(step for pair in asked for step in pair))
    # One of a pair for datagrams can be sent from to any other name.
    kind = (_step(_AND, _KIND_OF_SOCKET), *_deny(_IS, _DATAGRAMS, errno.EACCES))
    yield from _where(processor.pair, 1, *kind)
    families: list[bytes] = []
    for family in _FAMILIES:
        families += [_step(_IS, family, otherwise=1), _step(_RETURN, _ALLOW)]
    yield from _where(processor.socket, 0, *families, _step(_RETURN, _FAIL | errno.EACCES))


def _where(number: int, argument: int, *steps: bytes) -> tuple[bytes, ...]:
    """Steps for one call, with one of its arguments loaded; what they say nothing of is allowed."""
    program = (_step(_LOAD, _ARGUMENTS[argument]), *steps, _step(_RETURN, _ALLOW))
    return _step(_IS, number, otherwise=len(program)), *program


def _of(argument: int, *values: int) -> tuple[bytes, ...]:
    denied = [_deny(_IS, value, errno.EPERM) for value in values]
    return _step(_LOAD, _ARGUMENTS[argument]), *(step for pair in denied for step in pair)


def _deny(comparison: int, value: int, error: int) -> tuple[bytes, bytes]:
    return _step(comparison, value, otherwise=1), _step(_RETURN, _FAIL | error)


def _step(act: int, value: int, *, otherwise: int = 0) -> bytes:
    """One step; `otherwise` is how many of the next are passed over where a comparison does not hold."""
    return struct.pack("=HBBI", act, 0, otherwise, value)


_FORBIDDEN = _step(_RETURN, _FAIL | errno.EPERM)
