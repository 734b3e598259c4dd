"""Sessions, personas, runs and their journals."""

from runlore.client.remote.calls import Asked, Remote, Sent, given, path_of, repeated
from runlore.daemon import answers
from runlore.domain.errors import Invalid
from runlore.domain.record import JsonValue, Record
from runlore.domain.run import Artifact, ArtifactId, RunId
from runlore.domain.session import Persona, PersonaId, Session, SessionId
from runlore.ports import operations as ops


class RemoteSessions(Remote):
    """Sessions, personas, and the runs that agents report."""

    def create_session(self, request: ops.NewSession) -> Session:
        """Make a session; the one that is there for the same id and the same request."""
        body: Sent = {
            "session_id": request.session_id,
            "title": request.title,
            "persona_id": request.persona_id,
            "project_ids": list(request.project_ids),
            "agent": request.agent,
            "private": request.private,
            "working_folder": request.working_folder,
            **({"models": list(request.models)} if request.models else {}),
        }
        made = self.act(path_of("sessions"), body, key=request.idempotency_key)
        return answers.read(Session, made)

    def change_session(self, change: ops.SessionChange) -> Session:
        """Bind, link, name, restrict or end a session."""
        projects = change.project_ids
        body: dict[str, JsonValue] = given(
            {
                "title": change.title,
                "project_ids": None if projects is None else list(projects),
                "capability_scope": change.capability_scope,
                "ended": change.ended,
                "expected_revision": change.expected_revision,
            }
        )
        if change.persona_id is not ops.UNSET:
            body["persona_id"] = change.persona_id
        changed = self.act(
            path_of("sessions", change.session_id), body, key=change.idempotency_key, method="PATCH"
        )
        return answers.read(Session, changed)

    def get_session(self, session_id: SessionId) -> Session:
        """One session."""
        return answers.read(Session, self.read(path_of("sessions", session_id)))

    def list_sessions(self, request: ops.PageRequest) -> ops.SessionPage:
        """Sessions, the newest first."""
        return answers.read(ops.SessionPage, self.read(path_of("sessions"), _page(request)))

    def put_persona(self, change: ops.PersonaChange) -> Persona:
        """Make or change a persona."""
        body: Sent = {
            "name": change.name,
            "capability_scope": change.capability_scope,
            "capture": change.capture,
            "expected_revision": change.expected_revision,
        }
        put = self.act(path_of("personas", change.persona_id), body, key=change.idempotency_key, method="PUT")
        return answers.read(Persona, put)

    def get_persona(self, persona_id: PersonaId) -> Persona:
        """One persona."""
        return answers.read(Persona, self.read(path_of("personas", persona_id)))

    def list_personas(self, request: ops.PageRequest) -> ops.PersonaPage:
        """Personas, the latest changed first."""
        return answers.read(ops.PersonaPage, self.read(path_of("personas"), _page(request)))

    def open_run(self, request: ops.NewRun) -> ops.RunView:
        """Open a run that another agent works, and give it its context where asked."""
        body: Sent = {
            "request": request.request,
            "run_id": request.run_id,
            "agent": request.agent,
            "model": request.model,
            "context": request.context,
            "prompt_tokens": request.prompt_tokens,
            "metadata": request.metadata,
        }
        path = path_of("sessions", request.session_id, "runs")
        return answers.read(ops.RunView, self.act(path, body, key=request.idempotency_key))

    def get_run(self, run_id: RunId) -> ops.RunView:
        """One run."""
        return answers.read(ops.RunView, self.read(path_of("runs", run_id)))

    def list_runs(self, request: ops.RunsRequest) -> ops.RunPage:
        """Runs, the newest first."""
        asked = [
            ("session_id", request.session_id),
            *repeated("status", request.statuses),
            ("limit", request.limit),
            ("cursor", request.cursor),
        ]
        return answers.read(ops.RunPage, self.read(path_of("runs"), asked))

    def append_events(self, request: ops.NewEvents) -> ops.Appended:
        """Append to a run's journal, durable when answered."""
        body: Sent = {"events": list(request.events), "first_number": request.first_number}
        # The number makes it repeatable: an equal range that is there already changes nothing.
        repeatable = request.first_number is not None
        told = self.ask(path_of("runs", request.run_id, "events"), body, repeatable=repeatable)
        return answers.read(ops.Appended, told)

    def add_checkpoint(self, request: ops.NewCheckpoint) -> ops.Appended:
        """Write a checkpoint; history before it stays readable."""
        path = path_of("sessions", request.session_id, "checkpoints")
        return answers.read(ops.Appended, self.act(path, {"text": request.text}, key=request.idempotency_key))

    def add_scratch(self, request: ops.NewScratch) -> Record | None:
        """A working record of the run; None where nothing is stored."""
        path = path_of("runs", request.run_id, "scratch")
        return answers.read_stored(
            Record, self.act(path, {"text": request.text}, key=request.idempotency_key)
        )

    def list_scratch(self, run_id: RunId) -> tuple[Record, ...]:
        """A run's working records, oldest first."""
        return answers.read_list(Record, self.read(path_of("runs", run_id, "scratch")))

    def add_artifact(self, request: ops.NewArtifact) -> Artifact | None:
        """Keep a text of the run; None where nothing is stored."""
        body: Sent = {"name": request.name, "text": request.text, "artifact_id": request.artifact_id}
        path = path_of("runs", request.run_id, "artifacts")
        return answers.read_stored(Artifact, self.act(path, body, key=request.idempotency_key))

    def get_artifact(self, artifact_id: ArtifactId) -> Artifact:
        """One artifact."""
        return answers.read(Artifact, self.read(path_of("artifacts", artifact_id)))

    def list_artifacts(self, run_id: RunId) -> ops.ArtifactPage:
        """A run's artifacts, oldest first."""
        return answers.read(ops.ArtifactPage, self.read(path_of("runs", run_id, "artifacts")))

    def finish_run(self, request: ops.RunEnd) -> ops.RunView:
        """End an external run. Its memory is there when this is answered."""
        body: Sent = {
            "status": request.status.value,
            "error": request.error,
            "artifact_ids": list(request.artifact_ids),
            "summarise_scratch": request.summarise_scratch,
        }
        path = path_of("runs", request.run_id, "finish")
        return answers.read(ops.RunView, self.act(path, body, key=request.idempotency_key))

    def journal(self, request: ops.JournalRequest) -> ops.JournalPage:
        """What happened, event by event."""
        asked: list[tuple[str, Asked]] = [("limit", request.limit), ("cursor", request.cursor)]
        if (request.run_id is None) is (request.session_id is None):
            # There is no path to ask for it by, so it is refused here, in the words of the operation.
            raise Invalid(
                "a journal is of one run or of one session",
                code="journal.of",
                hint="give either run_id or session_id",
            )
        if request.session_id is not None:
            path = path_of("sessions", request.session_id, "journal")
            asked.append(("since_checkpoint", request.since_checkpoint or None))
        else:
            path = path_of("runs", str(request.run_id), "journal")
        return answers.read(ops.JournalPage, self.read(path, asked))


def _page(request: ops.PageRequest) -> list[tuple[str, Asked]]:
    return [("limit", request.limit), ("cursor", request.cursor)]
