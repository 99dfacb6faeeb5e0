"""The demo: two real bugs of a real package, repaired offline with a model replayed from journals."""
