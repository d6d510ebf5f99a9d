"""What outlives the window: conversations and task runs, in one SQLite database."""
