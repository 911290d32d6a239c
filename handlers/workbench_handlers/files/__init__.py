"""Files and directories, which these modules only read.

`tools` has the handlers. Other packages import single modules, so this one imports none.
"""
