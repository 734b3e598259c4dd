-- Where the database came from, and what a follower recognises it by.
CREATE TABLE store_meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) /* clustered */;

-- One line per record: what queries look for. It holds no content, which stands in the events alone, and it
-- can be rebuilt from them. `subject`, `profile_key`, `sources_digest`, `imported_from`, `policy_actor` and
-- `rule` are digests. `due_at_ms` is when a live record expires, `revalidate_at_ms` when an active one is to be
-- looked at again, `moved_at_ms` the latest time of any of its events. Reading starts at the event of `base_revision`.
-- `change` is the number of the transaction that wrote it last.
CREATE TABLE records (
    record_id TEXT NOT NULL PRIMARY KEY,
    layer TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    scope_kind TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    proposal TEXT,
    subject TEXT,
    profile_key TEXT,
    sources_digest TEXT,
    imported_from TEXT,
    source_run TEXT,
    source_session TEXT,
    superseded_by TEXT,
    publish_tier TEXT,
    policy_decision TEXT,
    policy_actor TEXT,
    rule TEXT,
    created_at_ms BIGINT NOT NULL,
    published_at_ms BIGINT,
    due_at_ms BIGINT,
    revalidate_at_ms BIGINT,
    moved_at_ms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    base_revision BIGINT NOT NULL,
    change BIGINT NOT NULL
) /* clustered */;

-- Lists walk these in their order; the columns after `record_id` spare a look at the row.
CREATE INDEX records_by_time ON records (created_at_ms, record_id);
CREATE INDEX records_by_state
    ON records (state, layer, created_at_ms, record_id, kind, proposal, due_at_ms);
CREATE INDEX records_by_scope
    ON records (scope_kind, scope_id, created_at_ms, record_id, state, layer, kind, proposal, due_at_ms);
CREATE INDEX records_published
    ON records (created_at_ms, record_id, state, layer, kind, scope_kind, scope_id, proposal, due_at_ms,
        publish_tier, policy_decision, policy_actor, rule, published_at_ms)
    WHERE published_at_ms IS NOT NULL;
CREATE INDEX records_published_by_scope
    ON records (scope_kind, scope_id, created_at_ms, record_id, state, layer, kind, proposal, due_at_ms,
        publish_tier, policy_decision, policy_actor, rule, published_at_ms)
    WHERE published_at_ms IS NOT NULL;
CREATE INDEX records_by_scope_change ON records (scope_kind, scope_id, change);

CREATE INDEX records_by_change ON records (change, record_id);
CREATE INDEX records_by_move ON records (moved_at_ms, record_id);
CREATE INDEX records_by_expiry ON records (due_at_ms, record_id) WHERE due_at_ms IS NOT NULL;
CREATE INDEX records_by_revalidation ON records (revalidate_at_ms, record_id, scope_kind, scope_id, due_at_ms)
    WHERE revalidate_at_ms IS NOT NULL;
CREATE INDEX records_by_subject ON records (scope_kind, scope_id, kind, subject)
    WHERE subject IS NOT NULL AND state = 'active';
CREATE INDEX records_by_profile_key ON records (scope_kind, scope_id, profile_key)
    WHERE profile_key IS NOT NULL AND state = 'active';
CREATE INDEX records_by_replacement ON records (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX records_by_sources ON records (sources_digest) WHERE sources_digest IS NOT NULL;
CREATE INDEX records_by_run ON records (source_run) WHERE source_run IS NOT NULL;
CREATE INDEX records_by_session ON records (source_session) WHERE source_session IS NOT NULL;
CREATE INDEX records_by_import ON records (imported_from) WHERE imported_from IS NOT NULL;

-- Scopes that a record has left for another one, and the transaction in which the latest did: what follows a
-- scope cannot see that from the records which are still in it.
CREATE TABLE scope_departures (
    scope_kind TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    change BIGINT NOT NULL,
    PRIMARY KEY (scope_kind, scope_id)
) /* clustered */;

CREATE INDEX scope_departures_by_change ON scope_departures (change);

-- The history, which is what a record is. Rows are appended and never grow, so that SQLite keeps no stale
-- copy of a text when it is erased. `checksum` is of all other columns. `body` is now and then the whole
-- record, so that reading one that moved a thousand times does not replay a thousand events.
CREATE TABLE record_events (
    record_id TEXT NOT NULL REFERENCES records (record_id) DEFERRABLE INITIALLY DEFERRED,
    revision BIGINT NOT NULL,
    move TEXT NOT NULL,
    from_state TEXT,
    to_state TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    checksum TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    changes TEXT NOT NULL,
    body TEXT,
    PRIMARY KEY (record_id, revision)
);

-- Which records were made from which (`source.record_ids`).
CREATE TABLE record_sources (
    source_id TEXT NOT NULL,
    record_id TEXT NOT NULL REFERENCES records (record_id) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (source_id, record_id)
) /* clustered */;

-- What keyed calls answered, written with their effects.
CREATE TABLE answers (
    idempotency_key TEXT NOT NULL PRIMARY KEY,
    request_digest TEXT NOT NULL,
    records TEXT NOT NULL,
    at_ms BIGINT NOT NULL
) /* clustered */;
