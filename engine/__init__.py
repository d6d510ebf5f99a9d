"""Runahead's engine: runs mixture-of-experts models larger than memory, several requests at once."""
