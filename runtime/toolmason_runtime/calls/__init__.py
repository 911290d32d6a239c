"""Calls of tools: arguments, bindings to handlers, and the parameter `call` of a handler."""
