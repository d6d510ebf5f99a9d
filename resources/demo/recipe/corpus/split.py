"""What is trained and what is held out."""

import re
from hashlib import blake2b

HELD_OUT_PERCENT = 3


def is_held_out(key: str) -> bool:
    """Whether the combination `key` must never be trained; about 3 % are."""
    return int.from_bytes(blake2b(key.encode(), digest_size=4).digest(), "big") % 100 < (
        HELD_OUT_PERCENT
    )


def normalised(text: str) -> str:
    """`text` in lower case without punctuation, to compare prompts."""
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()
