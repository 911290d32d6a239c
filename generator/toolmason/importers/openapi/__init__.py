"""Manifests of HTTP tools from OpenAPI documents: read, convert, and merge with an edited manifest."""
