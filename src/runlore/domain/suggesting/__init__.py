"""Writes up what the detectors found: united, scored, named, with parameters, a body and its evidence."""
