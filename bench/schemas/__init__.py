"""Schemas: draws values from them, judges what converters make of them, and compares converters on one corpus."""
