"""An agent that searches, reformulates once and calls: how often it finds the right tools, and the tokens of a task."""
