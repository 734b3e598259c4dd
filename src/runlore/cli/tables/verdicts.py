"""What automation makes of a record, in words: for the inbox, and for each candidate and learning."""

from collections.abc import Iterator, Mapping

from runlore.domain.record import JsonObject, JsonValue, Record


def verdict_rows(record: Record) -> Iterator[tuple[str, str]]:
    review = record.automation_review
    if review is None:
        return
    yield "automation", _verdict(review)
    judge = review.get("judge")
    if isinstance(judge, Mapping):
        yield "judge", _judge(judge)


def verdict_word(record: Record) -> str:
    review = record.automation_review
    action = "-" if review is None else _text(review.get("action"))
    return f"{action}, {record.policy_decision}" if record.policy_decision else action


def feedback_text(record: Record) -> str:
    return f"{record.feedback.wrong} wrong, {record.feedback.helped} helped"


def _verdict(review: JsonObject) -> str:
    """The action, and why: the reason begins with what the rules said, and by which of them."""
    return (
        f"{_text(review.get('action'))} in {_text(review.get('mode'))} mode"
        f" (policy revision {_text(review.get('policy_revision'))}): {_text(review.get('reason'))}"
    )


def _judge(judge: Mapping[str, JsonValue]) -> str:
    asked = ", ".join(_text(judge[name]) for name in ("model", "prompt") if judge.get(name))
    failure = f", failed with {_text(judge['failure'])}" if judge.get("failure") else ""
    by = f" ({asked})" if asked else ""
    return f"{_text(judge.get('action'))}{failure}{by}: {_text(judge.get('reason'))}"


def _text(value: JsonValue) -> str:
    return "" if value is None else str(value)
