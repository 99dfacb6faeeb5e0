"""The viewer: runs, memory and campaigns in a browser on this machine."""
