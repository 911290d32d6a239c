"""Read-only tools for files and directories.

`tools` has the handlers. Other packages import single modules, so this one imports none.
"""
