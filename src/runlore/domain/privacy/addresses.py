"""E-mail addresses, in any script: `name@host.tld`, also with the `@` written as `%40`.

Not an address: `@decorator`, `package@1.2.3`, `unit@1000.service`, `icon@2x.png`, a call such as
`a@b.transpose()`, and the accounts that version control is reached under (`git@github.com:acme/x`), which
name no person. Any other `user@host.tld:path` is one: the user is a person as often as not.

IP addresses that lead to a machine: public ones and those of private networks. What means "this machine",
"any", "everybody" or a mask is nobody's, and stays: 127.0.0.1, 0.0.0.0, ::1, 255.255.255.0. A version with
four parts stays where something says that it is one (`v131.2.3.4`, `==131.2.3.4`, `version 131.2.3.4`,
`131.2.3.4-rc1`). Four small numbers (`1.8.1.4`) are a version, a section or an object id, unless something
says that they are an address: a port, a prefix, `//` or `@` before them, a word such as host. Times, MAC
addresses, key prints and `a::b` of programs are no addresses.
"""

from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.privacy.view import PersonalFinding, PersonalView

LOCAL_CHARS_MAX = 128
HOST_CHARS_MAX = 253
SUFFIX_CHARS_MAX = 24

_LOCAL_SIGNS = frozenset(".!#$%&'*+/=?^_`{|}~-")
_VERSION_CONTROL = frozenset({"git", "hg", "svn"})
_UNIT_SUFFIXES = frozenset(
    {"service", "socket", "timer", "target", "mount", "automount", "slice", "scope", "swap"}
)


def find_emails(view: PersonalView) -> Iterator[PersonalFinding]:
    text, done = view.text, 0
    for at, behind in _anchors(text):
        if at < done:
            continue
        start = _local_start(text, at, done)
        if start == at or text[start:at].lower() in _VERSION_CONTROL:
            continue
        end = _host_end(text, behind)
        if end > behind:
            yield PersonalFinding("email", start, end)
            done = end


def _anchors(text: str) -> Iterator[tuple[int, int]]:
    sign, escape = text.find("@"), text.find("%40")
    while sign >= 0 or escape >= 0:
        if escape < 0 or 0 <= sign < escape:
            yield sign, sign + 1
            sign = text.find("@", sign + 1)
        else:
            yield escape, escape + 3
            escape = text.find("%40", escape + 3)


def _local_start(text: str, at: int, least: int) -> int:
    """Where the name begins. Scripts without spaces run into it, so they are not mixed with others."""
    start, least = at, max(least, at - LOCAL_CHARS_MAX)
    is_dense = at > 0 and _is_dense(text[at - 1])
    while start > least:
        character = text[start - 1]
        if character not in _LOCAL_SIGNS and not (character.isalnum() and _is_dense(character) is is_dense):
            break
        start -= 1
    # Signs that can stand in a name but begin none: quotes, brackets of markup, a path before it.
    cut = max(text.rfind(sign, start, at) for sign in "/='`")
    start = max(start, cut + 1)
    while start < at and text[start] in _LOCAL_SIGNS:
        start += 1
    return start


def _host_end(text: str, start: int) -> int:
    """Where the host behind the sign ends; `start` where there is none."""
    end = start
    stop = min(len(text), start + HOST_CHARS_MAX)
    while end < stop and _continues_host(text, end, start):
        end += 1
    labels = text[start:end].rstrip(".-").split(".")
    while len(labels) > 1 and not _is_suffix(labels[-1]):
        # No suffix has a hyphen: what stands behind it is not the address's any more.
        shorter = labels.pop().partition("-")[0]
        if _is_suffix(shorter):
            labels.append(shorter)
    if len(labels) < 2 or not all(labels) or any(label[0] == "-" for label in labels):
        return start
    end = start + len(".".join(labels))
    if _is_version(labels) or labels[-1].lower() in _UNIT_SUFFIXES or text[end : end + 1] == "(":
        return start
    return end


def _continues_host(text: str, at: int, start: int) -> bool:
    character = text[at]
    if character in ".-":
        return True
    if not character.isalnum():
        return False
    before = text[at - 1]
    # Within a label a script without spaces does not mix with others: the sentence goes on there.
    return at == start or not before.isalnum() or _is_dense(character) is _is_dense(before)


def _is_suffix(label: str) -> bool:
    if label.lower().startswith("xn--"):
        return len(label) > len("xn--")
    return 2 <= len(label) <= SUFFIX_CHARS_MAX and label.isalpha()


def _is_version(labels: list[str]) -> bool:
    numbers = [label.lower().removeprefix("v").removesuffix("x") for label in labels[:-1]]
    if len(numbers) == 1:
        return numbers[0] != labels[0].lower() and numbers[0].isdigit()
    return all(number.isdigit() for number in numbers)


def _is_dense(character: str) -> bool:
    """Whether the script writes words without spaces between them: from the Thai block to the ideographs."""
    return "\u0e00" <= character <= "\u0eff" or "\u2e80" <= character <= "\u9fff" or character >= "\U00020000"


_V4 = rb"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"
_V6 = rb"[0-9A-Fa-f:]*:[0-9A-Fa-f]{0,4}:(?:(?:[0-9A-Fa-f:]*:)?\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f:]*)"
_VERSION_WORDS = (
    *("version", "versions", "ver", "release", "build", "firmware", "revision", "rev"),
    *("versión", "versão", "versione", "версия", "版本", "バージョン"),
)
_ADDRESS_WORDS = (
    *("ip", "ips", "host", "hosts", "hostname", "address", "addr", "inet", "ping", "ssh", "peer", "client"),
    *(
        "dns",
        "gateway",
        "nameserver",
        "resolver",
        "server",
        "adresse",
        "dirección",
        "indirizzo",
        "адрес",
        "地址",
    ),
)
_SMALL, _PRIVATE = 32, 10
_PINS = frozenset({b"==", b">=", b"<=", b"~=", b"!=", b"^="})
_WORD_CHARS_MAX = 24
_V6_CHARS_MAX, _V6_CHARS_MIN = 45, 6
_EUI_GROUPS = 8
# The first octet from which on an address is a group's or nobody's.
_MULTICAST = 224
# What is routed, local to a site, local to a link, and an IPv4 address in other clothes.
_V6_RANGES = tuple(
    (int(IPv6Address(first)), int(IPv6Address(last)))
    for first, last in (
        ("2000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("::ffff:1.0.0.0", "::ffff:126.255.255.255"),
        ("::ffff:128.0.0.0", "::ffff:223.255.255.255"),
        ("64:ff9b::", "64:ff9b::ffff:ffff"),
    )
)


def find_v4(view: PersonalView) -> Iterator[PersonalFinding]:
    for match in compile_pattern(_V4).finditer(view.data):
        start, end = match.start(), match.end()
        if (
            view.begins_alone(start, b".")
            and _is_somebodys(view.data[start:end])
            and _stands_as_address(view, start, end)
        ):
            yield PersonalFinding("ip", start, end)


def find_v6(view: PersonalView) -> Iterator[PersonalFinding]:
    if view.data.count(b":") < 2:
        return
    for match in compile_pattern(_V6).finditer(view.data):
        start, end = _trim_colons(view.data, match.start(), match.end())
        if not _V6_CHARS_MIN <= end - start <= _V6_CHARS_MAX or not view.stands_alone(start, end, b"."):
            continue
        if _is_v6(view.data[start:end].decode("ascii")) and not _is_index(view, start):
            yield PersonalFinding("ip", start, end)


def _is_somebodys(written: bytes) -> bool:
    try:
        address = IPv4Address(written.decode("ascii"))
    except AddressValueError:
        return False
    first = address.packed[0]
    return 0 < first < _MULTICAST and not address.is_loopback


def _stands_as_address(view: PersonalView, start: int, end: int) -> bool:
    """Whether nothing around it says that it is a version, or a part of something longer."""
    words = view.text[max(0, start - _WORD_CHARS_MAX) : start].lower().rstrip(" :=.\t\"'`([")
    return (
        not view.touches_word(start, end)
        and _begins_address(view, start)
        and _ends_address(view, end)
        and not words.endswith(_VERSION_WORDS)
        and (
            not _is_small(view.data[start:end])
            or words.endswith(_ADDRESS_WORDS)
            or view.data[max(0, start - 1) : start] in (b"/", b"@")
            or (view.data[end : end + 1] in (b":", b"/") and view.is_digit(end + 1))
        )
    )


def _begins_address(view: PersonalView, start: int) -> bool:
    before = view.data[max(0, start - 1) : start]
    if before in (b"~", b"^") or view.data[max(0, start - 2) : start] in _PINS:
        return False
    if before in (b".", b"/"):
        return not view.is_word(start - 2)
    return before != b"-" or not view.is_word(start - 2) or _is_v4_behind(view, start)


def _ends_address(view: PersonalView, end: int) -> bool:
    behind = view.data[end : end + 1]
    if behind not in (b".", b"-", b"+") or not view.is_word(end + 1):
        return True
    # A hyphen leads to the other end of a range, or to the rest of a version.
    return behind == b"-" and compile_pattern(_V4).match(view.data, end + 1) is not None


def _is_small(written: bytes) -> bool:
    first, *rest = map(int, written.split(b"."))
    return first < _SMALL and first != _PRIVATE and all(octet < _SMALL for octet in rest)


def _is_v4_behind(view: PersonalView, start: int) -> bool:
    begin = max(0, start - 16)
    found = [match.end() for match in compile_pattern(_V4).finditer(view.data, begin, start - 1)]
    return bool(found) and found[-1] == start - 1


def _trim_colons(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Without a colon that belongs to the sentence: `addr:fe80::1` and `fe80::1: up`."""
    if data[start : start + 1] == b":" and data[start : start + 2] != b"::":
        start += 1
    if data[end - 1 : end] == b":" and data[end - 2 : end] != b"::":
        end -= 1
    return start, end


def _is_v6(text: str) -> bool:
    groups = text.split(":")
    if len(groups) == _EUI_GROUPS and all(len(group) == 2 for group in groups):
        return False
    try:
        number = int(IPv6Address(text))
    except AddressValueError:
        return False
    return any(first <= number <= last for first, last in _V6_RANGES)


def _is_index(view: PersonalView, start: int) -> bool:
    """Whether it stands in a program's brackets, as in `rows[2000::2]`."""
    return view.data[start - 1 : start] == b"[" and (
        view.is_word(start - 2) or view.data[start - 2 : start - 1] in (b")", b"]")
    )
