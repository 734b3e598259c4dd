"""The Python SDK, embedded or remote. Filled after the HTTP surface."""
