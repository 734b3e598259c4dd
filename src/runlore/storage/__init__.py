"""The databases: SQL written once, thin dialects for SQLite and PostgreSQL, migrations."""
