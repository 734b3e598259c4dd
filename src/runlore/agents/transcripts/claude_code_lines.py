"""How a line of Claude Code is parsed, and what need not be.

The program repeats in `toolUseResult` what the tool result already says, often with whole files: a third of a
transcript. A key with its quotes cannot stand inside a text of JSON, where quotes are escaped, so that part
can be found and cut out without parsing. Where the rest is not whole then, all of the line is parsed.
"""

import orjson

from runlore.agents.transcripts.claude_code_attachments import HARMLESS
from runlore.agents.transcripts.parsing import parse_json

# How lines begin that only the program itself needs; those that begin otherwise are parsed to see.
_OWN = (b'{"type":"file-history-', b'{"type":"last-prompt"', b'{"type":"permission-mode"')
_CHILD = b'{"parentUuid":'
_ATTACHMENT = b'"attachment":{"type":"'
_UNTOLD = frozenset(kind.encode() for kind in HARMLESS)
_KIND_CHARS_MAX = 60
# A hook that succeeded and put out nothing; a key with its quotes cannot stand inside a text.
_SILENT_HOOK, _NOTHING = b"hook_success", b'"content":""'
_PROGRESS = b'"type":"progress","data":{'
_ENDS = (b"}\n", b"}", b"}\r\n")
_REPEATED, _BEHIND = b',"toolUseResult":', b',"sourceToolAssistantUUID":'


def is_child(head: bytes) -> bool:
    """Whether a file begins with a line of a conversation."""
    return head.startswith(_CHILD) and b'"isSidechain":' in head


def is_housekeeping(line: bytes) -> bool:
    """Whether a line is known to say nothing by how it begins. One that is cut off is not."""
    if line.startswith(_CHILD):
        place = line.find(_ATTACHMENT, 0, 160)
        if place >= 0:
            place += len(_ATTACHMENT)
            kind = line[place : place + _KIND_CHARS_MAX].partition(b'"')[0]
            if kind not in _UNTOLD and not (kind == _SILENT_HOOK and _NOTHING in line):
                return False
        elif line.find(_PROGRESS, 100, 1000) < 0:
            return False
    elif not line.startswith(_OWN):
        return False
    return line.endswith(_ENDS)


def value_of(line: bytes) -> object:
    """The value of a line, without what it only repeats; ValueError where it is none."""
    begin = line.find(_REPEATED)
    if begin < 0:
        return parse_json(line)
    end = line.rfind(_BEHIND, begin)
    if end < 0:
        return parse_json(line)
    try:
        return orjson.loads(line[:begin] + line[end:])
    except orjson.JSONDecodeError:
        return parse_json(line)
