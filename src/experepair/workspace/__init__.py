"""Checkouts of a commit, edits laid over them, and the diffs they make."""
