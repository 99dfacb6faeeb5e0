"""From settings to a repair: opens what the steps need, runs the workflow, leaves the results."""
