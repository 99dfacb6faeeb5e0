"""The port to the two memories: recall before every trial, learn after every repair."""
