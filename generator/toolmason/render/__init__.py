"""Render: from the plan to the text of each file, in memory. The same model gives the same text anywhere."""
