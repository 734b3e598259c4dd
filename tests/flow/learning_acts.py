"""Short names for the acts of the learning plane, and runs that were given something."""

from typing import Any

from runlore.daemon.app import Application
from runlore.domain.record import Kind, PublishTier, Record, RecordId
from runlore.domain.run import Run, RunId
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.world import World

PROVISIONAL = PublishTier.PROVISIONAL


def candidate(by: Application, content: str = "The codename is Atlas", **fields: Any) -> Record:
    """A candidate of a caller's."""
    return by.create_candidate(ops.NewCandidate(**{"kind": Kind.FACT, "content": content, **fields}))


def publish(world: World, record: Record | RecordId, **fields: Any) -> Record:
    """The operator publishes a candidate."""
    return world.operator.publish(ops.Publication(record_id=_id(record), **fields))


def learning(world: World, content: str = "The codename is Atlas", **fields: Any) -> Record:
    """A learning that an operator has published; `candidate` holds what its candidate said."""
    said = fields.pop("candidate", {})
    return publish(world, candidate(world.operator, content, **said), **fields)


def supersede(world: World, record: Record, content: str, **fields: Any) -> Record:
    """The operator replaces a learning."""
    return world.operator.supersede(ops.Supersession(record_id=record.record_id, content=content, **fields))


def verify(world: World, record: Record | RecordId, **fields: Any) -> Record:
    """The operator has a learning verified."""
    return world.operator.verify(ops.VerifyRequest(record_id=_id(record), **fields))


def learnings(by: Application, **fields: Any) -> list[RecordId]:
    """A whole list of learnings, page by page."""
    filters = ops.LearningFilters(
        **{name: fields.pop(name) for name in tuple(fields) if name in ops.LearningFilters.__annotations__}
    )
    request = ops.LearningRequest(**{"filters": filters, **fields})
    return [record.record_id for record in paged(by.list_learnings, request)]


def paged(ask: Any, request: Any) -> list[Record]:
    """All pages of a list."""
    records: list[Record] = []
    while True:
        page = ask(request)
        assert len(page.items) <= request.limit
        records.extend(page.items)
        if page.next_cursor is None:
            return records
        request = ops_replace(request, cursor=page.next_cursor)


def ops_replace(request: Any, **fields: Any) -> Any:
    """The request with other fields."""
    return type(request)(**{**vars(request), **fields})


def given_run(by: Application, request: str, session_id: str = "talk", **fields: Any) -> Run:
    """An open run that was given what the session has learned."""
    session = by.create_session(ops.NewSession(session_id=SessionId(session_id)))
    asked = ops.NewRun(session_id=session.session_id, request=request, context=True, **fields)
    return by.open_run(asked).run


def feedback(
    by: Application, record: Record | RecordId, run: Run | RunId, verdict: str, **fields: Any
) -> Record:
    """A run's word on a learning."""
    return by.feedback(
        ops.FeedbackNote(
            record_id=_id(record),
            run_id=run.run_id if isinstance(run, Run) else run,
            verdict=ops.FeedbackVerdict(verdict),
            **fields,
        )
    )


def _id(record: Record | RecordId) -> RecordId:
    return record.record_id if isinstance(record, Record) else record
