"""What stands on each page."""
