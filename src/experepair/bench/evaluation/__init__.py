"""What the hidden tests say of predictions: SWE-bench's own harness, or an evaluation in our sandbox."""
