"""The demo: a real bug of a real package, repaired offline with a model replayed from a journal."""
