"""`toolmason schema`: audit the tool schemas of any MCP server against provider limits.

`sources` loads tools from the manifest, files and servers. `audit` checks them for each target. `report`, `ci_reports`
and `provider_format` format the results.
"""
