-- How runs went, in points from 0 to 100, once that is settled; and what somebody said of one. The facts are numbers.
CREATE TABLE run_outcomes (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (run_id) DEFERRABLE INITIALLY DEFERRED,
    opened_at_ms BIGINT NOT NULL,
    said TEXT,
    settled_at_ms BIGINT,
    points BIGINT,
    facts TEXT
) /* clustered */;

CREATE INDEX run_outcomes_unsettled ON run_outcomes (opened_at_ms, run_id) WHERE settled_at_ms IS NULL;

-- Whether a run was given what its receipt names ('given', 'held_back'; NULL where neither), and whether it used it.
ALTER TABLE receipts ADD COLUMN holdback_percent BIGINT NOT NULL DEFAULT 0;

ALTER TABLE receipt_sources ADD COLUMN arm TEXT;

ALTER TABLE receipt_sources ADD COLUMN used BIGINT;
