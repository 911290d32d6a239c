"""The tools that the conformance suite calls, as its scenarios describe them.

Their parameter models are made when the test runs, so a handler says of its parameters only what it reads.
"""
