"""Answers too long for one result: cut where a reader would turn the page, and kept until the rest was fetched."""
