"""The design pass that all importers of APIs share: names, texts and a token budget."""
