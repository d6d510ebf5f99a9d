"""Chats: conversations, tabs that stream at once, and what a message looks like."""
