-- What says the same is looked for among what waits and what has ended too, the newest first, not only among what is
-- active: one index for all of them in place of the one for the active ones.
DROP INDEX records_by_subject;

CREATE INDEX records_by_subject_and_time
    ON records (scope_kind, scope_id, kind, subject, state, created_at_ms, record_id)
    WHERE subject IS NOT NULL;
