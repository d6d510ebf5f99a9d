"""Bench models: random GGUFs of real shapes, with calibrated routing."""
