"""Recorded routing, machines as cost models, and the engine's scheduler on a virtual clock."""
