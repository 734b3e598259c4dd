"""Promoted skills, and how one stood after each change."""

from runlore.daemon.answers.shapes import cursor_of, items_of, listed, reader
from runlore.domain import rollout_plain
from runlore.domain.record import JsonValue
from runlore.domain.representation import Plain
from runlore.domain.rollout import PromotedSkill
from runlore.ports import operations as ops


def promoted_to_plain(skill: PromotedSkill) -> Plain:
    """A promoted skill: what it says, where its rollout stands, and what was seen of it."""
    return rollout_plain.promoted_to_plain(skill)


@reader
def promoted_from_plain(plain: JsonValue) -> PromotedSkill:
    """Read a promoted skill."""
    return rollout_plain.promoted_from_plain(plain)


def promoted_page_to_plain(page: ops.PromotedPage) -> Plain:
    """A page of promoted skills."""
    return listed(map(promoted_to_plain, page.items), page.next_cursor)


@reader
def promoted_page_from_plain(plain: JsonValue) -> ops.PromotedPage:
    """Read a page of promoted skills."""
    return ops.PromotedPage(items=items_of(plain, promoted_from_plain), next_cursor=cursor_of(plain))


def promoted_history_to_plain(history: ops.PromotedHistory) -> Plain:
    """A page of a promoted skill after each of its changes, oldest first."""
    snapshots = (rollout_plain.snapshot_to_plain(each.number, each.skill) for each in history.items)
    return listed(snapshots, history.next_cursor)


@reader
def promoted_history_from_plain(plain: JsonValue) -> ops.PromotedHistory:
    """Read a page of a promoted skill after each of its changes."""
    return ops.PromotedHistory(items=items_of(plain, _read_snapshot), next_cursor=cursor_of(plain))


def _read_snapshot(plain: JsonValue) -> ops.PromotedSnapshot:
    number, skill = rollout_plain.snapshot_from_plain(plain)
    return ops.PromotedSnapshot(number=number, skill=skill)
