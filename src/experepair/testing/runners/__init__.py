"""One module for each way in which repositories run their tests."""
