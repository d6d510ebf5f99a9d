"""Runahead's engine: runs MoE models larger than memory, several requests at once."""
