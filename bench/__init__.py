"""Benchmarks, with their own command and never part of the test run: `make bench`.

Every module here with a `main()` is a benchmark; README.md says what each measures and on what.
"""
