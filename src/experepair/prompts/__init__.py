"""One template per file, and their loader."""
