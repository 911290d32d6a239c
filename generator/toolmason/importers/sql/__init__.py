"""Create manifests from databases: a tool for each table and view, and for each saved query."""
