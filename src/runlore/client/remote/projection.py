"""Projection: what prompts are given, and what a session can find."""

from runlore.client.remote.calls import Asked, Remote, Sent, path_of
from runlore.daemon import answers
from runlore.domain.projection import Projection
from runlore.domain.run import RunId
from runlore.ports import operations as ops


class RemoteProjection(Remote):
    """Reading what prompts are given. None of these changes anything."""

    def memory_context(self, request: ops.ContextRequest) -> ops.MemoryContext:
        """What a session is eligible for, before packing."""
        asked: list[tuple[str, Asked]] = [("query", request.query), ("as_of", request.as_of)]
        path = path_of("sessions", request.session_id, "memory-context")
        return answers.read(ops.MemoryContext, self.read(path, asked))

    def session_search(self, request: ops.SessionSearchRequest) -> ops.SessionSearch:
        """Learnings and recovered runs that a session sees, ranked on one scale."""
        asked: list[tuple[str, Asked]] = [
            ("query", request.query),
            ("limit", request.limit),
            ("as_of", request.as_of),
        ]
        path = path_of("sessions", request.session_id, "memory-search")
        return answers.read(ops.SessionSearch, self.read(path, asked))

    def preview_input(self, request: ops.PreviewRequest) -> Projection:
        """The exact sections that an input would get, with the budget's arithmetic."""
        body: Sent = {
            "text": request.text,
            "model": request.model,
            "prompt_tokens": request.prompt_tokens,
        }
        path = path_of("sessions", request.session_id, "inputs", "preview")
        return answers.read(Projection, self.ask(path, body, repeatable=True))

    def receipt(self, run_id: RunId) -> ops.ReceiptView:
        """What a run was given, and what was left out and why."""
        return answers.read(ops.ReceiptView, self.read(path_of("runs", run_id, "receipt")))
