"""What the runs of a campaign show, computed from their journals and results."""
