"""Workflows and slash commands that are written into a user's project.

`data` and `command_file` turn the packaged texts into files of a client, `settings` and `writing` decide where they are
written, and `setup`, `slash_command` and `feature` are the tools. `documents` serves the resources.
"""
