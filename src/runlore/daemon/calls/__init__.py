"""What every call has in common: who may see and do what, idempotency, lookups, pages, working folders."""
