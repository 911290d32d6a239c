"""`toolmason-workbench migrate-commands`: rename our command files that were written without a prefix."""
