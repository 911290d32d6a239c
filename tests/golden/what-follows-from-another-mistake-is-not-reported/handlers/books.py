"""No tool is here."""
