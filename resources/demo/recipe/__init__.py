"""How the demo model is made."""
