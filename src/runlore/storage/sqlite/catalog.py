"""How SQLite tells its own schema: the columns of all tables, and which of them refer to which."""

# Table, column, whether it is text, whether it may be NULL, and its place in the primary key (0: none).
COLUMNS = (
    "SELECT t.name, c.name, c.type = 'TEXT', c.\"notnull\" = 0, c.pk"
    " FROM sqlite_schema t, pragma_table_info(t.name) c"
    " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY t.name, c.cid"
)
# Table and column, and the table and column that a value of it has to be found in.
REFERENCES = (
    'SELECT t.name, r."from", r."table", r."to" FROM sqlite_schema t, pragma_foreign_key_list(t.name) r'
    " WHERE t.type = 'table' ORDER BY t.name, r.id"
)
