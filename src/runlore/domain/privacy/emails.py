"""E-mail addresses, in any script: `name@host.tld`, also with the `@` written as `%40`.

Not an address: `@decorator`, `package@1.2.3`, `unit@1000.service`, `icon@2x.png`, a call such as
`a@b.transpose()`, and the accounts that version control is reached under (`git@github.com:acme/x`), which
name no person. Any other `user@host.tld:path` is one: the user is a person as often as not.
"""

from collections.abc import Iterator

from runlore.domain.privacy.view import PersonalFinding, PersonalView

KIND = "email"
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
            yield PersonalFinding(KIND, start, end)
            done = end


def _anchors(text: str) -> Iterator[tuple[int, int]]:
    """Where each `@` or `%40` stands, in order."""
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
