"""Text from bytes: characters stay whole, stop strings stay hidden."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.text_stream import TextStream


def stream(pieces: list[bytes], stop: list[str]) -> tuple[str, bool]:
    text = TextStream(stop)
    shown = "".join(text.push(piece) for piece in pieces) + text.finish()
    return shown, text.stopped


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(ends)]


def expected(text: str, stop: list[str]) -> tuple[str, bool]:
    """The obvious way: grow the text by characters until it ends with a stop string."""
    for end in range(1, len(text) + 1):
        ending = [s for s in stop if text[:end].endswith(s)]
        if ending:
            return text[: end - max(map(len, ending))], True
    return text, False


texts = st.text(alphabet="abcé🌍", max_size=30)
stops = st.lists(st.text(alphabet="abcé🌍", min_size=1, max_size=4), max_size=3)


@given(text=texts, stop=stops, places=st.lists(st.integers(0, 200), max_size=20))
def test_the_cuts_between_tokens_do_not_matter(
    text: str, stop: list[str], places: list[int]
) -> None:
    assert stream(cut(text.encode(), places), stop) == expected(text, stop)


@given(data=st.binary(max_size=40), places=st.lists(st.integers(0, 200), max_size=20))
def test_any_bytes_become_the_text_that_python_would_make(data: bytes, places: list[int]) -> None:
    assert stream(cut(data, places), []) == (data.decode("utf-8", errors="replace"), False)


def test_text_is_shown_as_soon_as_it_cannot_be_a_stop_string() -> None:
    text = TextStream(["\nUser:"])
    assert text.push(b"Hello") == "Hello"
    assert text.push(b"\nUs") == ""
    assert text.push(b"ual") == "\nUsual"
