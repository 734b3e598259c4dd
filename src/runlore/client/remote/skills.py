"""Skills learned from transcripts: runs brought in, and what they suggest."""

from collections.abc import Sequence

from runlore.client.remote.calls import LONG_S, Asked, Remote, Sent, path_of, repeated
from runlore.daemon import answers
from runlore.domain.suggestion import StoredSuggestion, SuggestionId
from runlore.domain.transcript import Position
from runlore.ports import operations as ops


class RemoteSkills(Remote):
    """Runs of other agents, and the skills that they suggest."""

    def import_runs(self, request: ops.RunsToImport) -> ops.ImportedRuns:
        """Bring runs of another agent in. Repeating it changes nothing."""
        position = request.position
        body: Sent = {
            "source": request.source,
            "runs": [answers.write(run) for run in request.runs],
            "position": None if position is None else answers.write(position),
        }
        told = self.act(path_of("transcripts", "runs"), body, key=request.idempotency_key, timeout_s=LONG_S)
        return answers.read(ops.ImportedRuns, told)

    def transcript_positions(self, sources: Sequence[str]) -> dict[str, Position]:
        """How far these sources have been read."""
        body: Sent = {"sources": list(sources)}
        return answers.read_positions(self.ask(path_of("transcripts", "positions"), body, repeatable=True))

    def suggest(
        self, request: ops.SuggestRequest, progress: ops.Progress = ops.unwatched
    ) -> ops.SuggestAnswer:
        """Run the detectors over all that was mined, and keep what they find in the review queue."""
        body: Sent = {"enhance": request.enhance}
        path = path_of("skill-suggestions", "detect")
        told = self.act(path, body, key=request.idempotency_key, timeout_s=LONG_S)
        answer = answers.read(ops.SuggestAnswer, told)
        progress(answer.sessions, answer.sessions)
        return answer

    def list_suggestions(self, request: ops.SuggestionsRequest) -> ops.SuggestionPage:
        """Suggestions, the best first."""
        asked: list[tuple[str, Asked]] = [
            *repeated("state", request.states),
            *repeated("heuristic", request.heuristics),
            ("limit", request.limit),
            ("cursor", request.cursor),
        ]
        return answers.read(ops.SuggestionPage, self.read(path_of("skill-suggestions"), asked))

    def get_suggestion(self, name: str) -> StoredSuggestion:
        """One suggestion by its name or id."""
        return answers.read(StoredSuggestion, self.read(path_of("skill-suggestions", name)))

    def skip_suggestion(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        """Take one out of the queue."""
        return self._moved(suggestion_id, "skip")

    def reset_suggestion(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        """Let a skipped one wait again."""
        return self._moved(suggestion_id, "reset")

    def _moved(self, suggestion_id: SuggestionId, move: str) -> StoredSuggestion:
        path = path_of("skill-suggestions", suggestion_id, move)
        return answers.read(StoredSuggestion, self.ask(path, repeatable=True))
