"""Campaigns, made ready to be shown out of their folders."""
