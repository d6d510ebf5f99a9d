"""How the app looks: colours, style sheet, icons."""
