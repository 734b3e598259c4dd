"""How PostgreSQL tells its own schema: the columns of all tables, and which of them refer to which."""

# Table, column, whether it is text, whether it may be NULL, and its place in the primary key (0: none).
COLUMNS = (
    "SELECT t.relname::text, c.attname::text, c.atttypid = 'text'::regtype, NOT c.attnotnull,"
    " COALESCE(array_position(k.conkey, c.attnum), 0)"
    " FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped"
    " LEFT JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'p'"
    " WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace"
    ' ORDER BY t.relname COLLATE "C", c.attnum'
)
# Table and column, and the table and column that a value of it has to be found in.
REFERENCES = (
    "SELECT t.relname::text, c.attname::text, p.relname::text, q.attname::text FROM pg_constraint k"
    " JOIN pg_class t ON t.oid = k.conrelid JOIN pg_class p ON p.oid = k.confrelid"
    " JOIN pg_attribute c ON c.attrelid = k.conrelid AND c.attnum = k.conkey[1]"
    " JOIN pg_attribute q ON q.attrelid = k.confrelid AND q.attnum = k.confkey[1]"
    " WHERE k.contype = 'f' AND t.relnamespace = current_schema()::regnamespace"
    ' ORDER BY t.relname COLLATE "C", k.conname COLLATE "C"'
)
