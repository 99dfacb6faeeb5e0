"""The user's environment: what the repository's code runs on, and whether tests there import the code under repair."""

from experepair.session.environment.examined import Environment, examine
from experepair.session.environment.ground import Ground, prepare

__all__ = ["Environment", "Ground", "examine", "prepare"]
