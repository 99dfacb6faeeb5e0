"""Repairs real issues in real repositories with a language model, and learns from every repair."""

__version__ = "0.1.0"
