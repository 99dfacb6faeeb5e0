"""The command line: thin entry points."""
