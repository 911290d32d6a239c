"""The ways to ask a model: one module for each kind of API, and the Gemini CLI."""
