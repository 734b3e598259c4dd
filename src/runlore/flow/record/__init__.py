"""Record: what enters the store, as candidates or as append-only episodes, guarded and keyed."""
