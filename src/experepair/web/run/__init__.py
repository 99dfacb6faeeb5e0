"""One repair, made ready to be shown, out of its journal and its result."""
