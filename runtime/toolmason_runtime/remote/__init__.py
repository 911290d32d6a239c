"""Limits of everything that other machines and programs send: bytes, values, depth, charsets and links."""
