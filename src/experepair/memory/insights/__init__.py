"""Semantic memory: how insights change (paper, 3.3.1)."""
