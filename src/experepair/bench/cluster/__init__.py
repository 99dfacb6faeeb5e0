"""Repairs on many machines by Ray: one a task, journals in a shared folder, memory on a server."""
