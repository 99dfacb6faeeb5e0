"""The port to isolated execution, and what stands behind it."""
