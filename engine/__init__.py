"""Runahead's engine: MoE language models larger than memory, several requests at once."""

import os

# ggml's threads meet at barriers many times per layer, and libgomp lets each that waits there spin
# for milliseconds. Where a core is busy with something else, that spinning keeps the very thread
# that all wait for off the processor. A shorter spin makes generation there 2 to 5 times faster; a
# much shorter one (1000) doubles the compute time of batches on a quiet machine. libgomp reads this
# when it is loaded, so it has to be said before engine._native is.
os.environ.setdefault("GOMP_SPINCOUNT", "20000")
