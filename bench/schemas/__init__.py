"""Compare converters from JSON Schema to Gemini's `parameters` on a corpus of tool schemas."""
