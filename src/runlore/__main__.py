"""`python -m runlore`: the same command line as `runlore`."""

from runlore.cli.program import main

if __name__ == "__main__":
    main()
