"""The paper's tables and figures from the runs of a campaign."""
