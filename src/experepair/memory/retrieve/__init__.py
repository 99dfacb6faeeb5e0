"""Retrievers: they order demonstrations by their likeness to a query; the store keeps them."""
