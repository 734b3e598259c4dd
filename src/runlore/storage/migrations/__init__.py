"""Numbered SQL files, applied once each and never changed afterwards: `0001_name.sql`.

They are written in the subset that both databases share. Two words stand for what differs: `TEXT` is
binary text (PostgreSQL adds `COLLATE "C"`), and `/* clustered */` after a table keeps its rows in the order
of the primary key where the engine can (SQLite: `WITHOUT ROWID`).
"""
