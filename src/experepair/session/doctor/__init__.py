"""What a repair needs, each thing tried, each with what helps when it isn't there."""

from experepair.session.doctor.diagnose import diagnose
from experepair.session.doctor.finding import Diagnosis, Finding, State

__all__ = ["Diagnosis", "Finding", "State", "diagnose"]
