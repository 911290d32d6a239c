"""The tools of the server `desk`."""
