"""The steps of a repair, and workflow.py, which reads top to bottom."""
