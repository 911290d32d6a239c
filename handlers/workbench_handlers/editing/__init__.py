"""Handlers of the `editing` tools: proposals that a person reviews before they are written."""
