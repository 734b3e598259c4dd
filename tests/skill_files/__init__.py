"""Tests of skill folders on disk; the skills in them are made here."""
