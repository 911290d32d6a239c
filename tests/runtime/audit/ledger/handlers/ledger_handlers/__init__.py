"""Handlers of the ledger."""
