"""Many repairs: which ones, in what order, with whose memory; and how a campaign goes on after a crash."""
