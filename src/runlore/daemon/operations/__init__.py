"""The operations, implemented once over the store, the index and the flow; one module for each area."""
