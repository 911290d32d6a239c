"""The `research` tools: questions about a project that a model with a large context answers."""
