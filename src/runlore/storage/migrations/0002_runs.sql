-- Who agents are when they speak. `body` is the rest of the persona as JSON.
CREATE TABLE personas (
    persona_id TEXT NOT NULL PRIMARY KEY,
    updated_at_ms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    body TEXT NOT NULL
) /* clustered */;

CREATE INDEX personas_by_time ON personas (updated_at_ms, persona_id);

-- What sessions, runs, artifacts, receipts and captures say, apart from the rows that are looked for. `owner` is what it
-- belongs to, as KIND:ID. Rows are appended and only ever emptied, never deleted, so that SQLite keeps no stale
-- copy of a text that is erased. `checksum` is of all other columns.
CREATE TABLE texts (
    owner TEXT NOT NULL,
    revision BIGINT NOT NULL,
    checksum TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (owner, revision)
);

-- Conversations. `next_number` is the number of the next event of its journal; whoever appends moves it, and
-- so waits for whoever is appending. `journal_bytes` is what the bodies of its journal take. `body` is the rest
-- of the session as JSON; its title and folder are the text at `text_revision`.
CREATE TABLE sessions (
    session_id TEXT NOT NULL PRIMARY KEY,
    next_number BIGINT NOT NULL,
    journal_bytes BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    active_at_ms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    text_revision BIGINT,
    body TEXT NOT NULL
) /* clustered */;

CREATE INDEX sessions_by_time ON sessions (created_at_ms, session_id);
CREATE INDEX sessions_by_creator ON sessions (created_by, created_at_ms, session_id);

-- What was asked for, one line each; what happened is in the journal. `session_created_by` is its session's, so
-- that a caller's runs are found. Error and reason are the text at `text_revision`. `change` as in `records`.
CREATE TABLE runs (
    run_id TEXT NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (session_id) DEFERRABLE INITIALLY DEFERRED,
    session_created_by TEXT NOT NULL,
    status TEXT NOT NULL,
    executor TEXT,
    memory TEXT NOT NULL,
    input_number BIGINT NOT NULL,
    opened_at_ms BIGINT NOT NULL,
    active_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT,
    revision BIGINT NOT NULL,
    text_revision BIGINT,
    change BIGINT NOT NULL,
    body TEXT NOT NULL
) /* clustered */;

-- Lists walk these in their order; the status behind `run_id` spares a look at the row.
CREATE INDEX runs_by_time ON runs (opened_at_ms, run_id);
CREATE INDEX runs_by_status ON runs (status, opened_at_ms, run_id);
CREATE INDEX runs_by_session ON runs (session_id, opened_at_ms, run_id, status);
CREATE INDEX runs_by_creator ON runs (session_created_by, opened_at_ms, run_id, status);
CREATE INDEX runs_by_end ON runs (session_id, finished_at_ms, run_id) WHERE finished_at_ms IS NOT NULL;
CREATE INDEX runs_open ON runs (active_at_ms, run_id, executor) WHERE finished_at_ms IS NULL;
CREATE INDEX runs_owing ON runs (run_id) WHERE memory = 'pending';
CREATE INDEX runs_by_change ON runs (change, run_id);

-- The canonical history of a session. Rows are appended; only forgetting and retention empty a body.
-- `bytes` is the length of the body, 0 where it is empty. `checksum` is of all other columns.
CREATE TABLE journal (
    session_id TEXT NOT NULL REFERENCES sessions (session_id) DEFERRABLE INITIALLY DEFERRED,
    number BIGINT NOT NULL,
    run_id TEXT,
    type TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    checksum TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session_id, number)
);

CREATE INDEX journal_by_run ON journal (run_id, number, type, bytes) WHERE run_id IS NOT NULL;
CREATE INDEX journal_checkpoints ON journal (at_ms, session_id) WHERE type = 'checkpoint';
CREATE INDEX journal_bindings ON journal (session_id, number, at_ms) WHERE type = 'binding';

CREATE TABLE artifacts (
    artifact_id TEXT NOT NULL PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (run_id) DEFERRABLE INITIALLY DEFERRED,
    session_id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    text_revision BIGINT NOT NULL
) /* clustered */;

CREATE INDEX artifacts_by_run ON artifacts (run_id, at_ms, artifact_id);
CREATE INDEX artifacts_by_time ON artifacts (at_ms, artifact_id, bytes);

-- What runs were given, and which records and runs each receipt names.
CREATE TABLE receipts (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (run_id) DEFERRABLE INITIALLY DEFERRED,
    at_ms BIGINT NOT NULL,
    text_revision BIGINT NOT NULL
) /* clustered */;

CREATE TABLE receipt_sources (
    source_id TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES receipts (run_id) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (source_id, run_id)
) /* clustered */;

CREATE INDEX receipt_sources_by_run ON receipt_sources (run_id, source_id);

-- The topology index of run memories: derived, and rebuilt at every start of a daemon.
CREATE TABLE run_pointers (
    run_id TEXT NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL,
    captured_at_ms BIGINT NOT NULL,
    capture TEXT NOT NULL,
    scopes TEXT NOT NULL
) /* clustered */;

CREATE INDEX run_pointers_by_session ON run_pointers (session_id, captured_at_ms, run_id);
CREATE INDEX run_pointers_by_time ON run_pointers (captured_at_ms, run_id);
CREATE INDEX run_pointers_pending ON run_pointers (captured_at_ms, run_id) WHERE capture = 'pending';

CREATE TABLE run_pointer_scopes (
    scope_kind TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    captured_at_ms BIGINT NOT NULL,
    run_id TEXT NOT NULL,
    PRIMARY KEY (scope_kind, scope_id, captured_at_ms, run_id)
) /* clustered */;

CREATE INDEX run_pointer_scopes_by_run ON run_pointer_scopes (run_id);

-- What capture has made of runs, and whether a run read from outside; from where is the text at `text_revision`.
-- Of a forgotten run that did, this much stays: what it read may stand in what came after it.
CREATE TABLE run_captures (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (run_id) DEFERRABLE INITIALLY DEFERRED,
    session_id TEXT NOT NULL,
    opened_at_ms BIGINT NOT NULL,
    state TEXT NOT NULL,
    is_untrusted BIGINT NOT NULL,
    text_revision BIGINT
) /* clustered */;

CREATE INDEX run_captures_untrusted ON run_captures (session_id, opened_at_ms, run_id) WHERE is_untrusted = 1;

-- Run memories where several daemons share a server; with SQLite they are files and this stays empty.
CREATE TABLE run_memories (
    run_id TEXT NOT NULL PRIMARY KEY,
    checksum TEXT NOT NULL,
    body TEXT NOT NULL
) /* clustered */;

-- The processes that execute runs, and until when each is known to be alive.
CREATE TABLE processes (
    process_id TEXT NOT NULL PRIMARY KEY,
    lease_until_ms BIGINT NOT NULL,
    description TEXT NOT NULL
) /* clustered */;
