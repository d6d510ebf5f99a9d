"""Subtasks: one task done for many items, in sessions that run side by side."""
