"""Learning without a model: from finished repairs, from a repository's history, from a human's fix."""
