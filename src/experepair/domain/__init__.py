"""Frozen values that the steps of a repair pass on to each other. Nothing here reads or writes anything."""
