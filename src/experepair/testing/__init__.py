"""Existing tests: how a repository runs them, which belong to a change, what they said."""
