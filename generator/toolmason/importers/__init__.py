"""Create manifests from other descriptions of programs, with notes about parts that cannot be imported."""
