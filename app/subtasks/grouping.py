"""Putting results into groups that a context has room for."""

from collections.abc import Sequence

_FRAME = 8  # characters around each result


def grouped(results: Sequence[tuple[str, str]], room: int) -> list[list[tuple[str, str]]]:
    """(item, answer) pairs in their order, each group at most `room` characters.

    An answer that is longer by itself is cut at the ends of lines or words, and nothing is lost.
    """
    groups: list[list[tuple[str, str]]] = [[]]
    left = room
    for item, answer in results:
        head = item[: room // 4]
        for piece in pieces(answer, max(1, room - len(head) - _FRAME)):
            n_chars = len(head) + len(piece) + _FRAME
            if n_chars > left and groups[-1]:
                groups.append([])
                left = room
            groups[-1].append((head, piece))
            left -= n_chars
    return [group for group in groups if group]


def pieces(text: str, most: int) -> list[str]:
    """`text` in pieces of at most `most` characters."""
    found: list[str] = []
    while len(text) > most:
        cut = max(text.rfind("\n", most // 2, most), text.rfind(" ", most // 2, most)) + 1 or most
        found.append(text[:cut])
        text = text[cut:]
    return [*found, text]
