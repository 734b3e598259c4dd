"""PostgreSQL: a pool of connections to a server that several daemons may share."""
