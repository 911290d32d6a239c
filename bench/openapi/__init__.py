"""Imported OpenAPI documents: the share of operations whose tool generates, starts and sends the documented request."""
