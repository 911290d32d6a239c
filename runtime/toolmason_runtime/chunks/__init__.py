"""Texts too long for one answer: cut into parts, stored for an hour and read with `fetch_chunk`."""
