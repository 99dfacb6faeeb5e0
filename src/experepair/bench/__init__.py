"""Many issues at once: datasets, environments, predictions, and what the hidden tests say of them."""
