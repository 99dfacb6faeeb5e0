"""The port to language models: providers, prices, budget, retries, replay."""
