"""short(): a name in a sentence or on a button, however long it is."""


def short(name: str, most: int = 48) -> str:
    """The name, without its middle where it is longer than `most` characters."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 3
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"
