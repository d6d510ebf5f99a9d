"""Cache sizes, link speeds, sampling values: what is accepted, and what a refusal says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import sizes
from engine.cache_size import CacheSize
from engine.errors import InvalidRequestError
from engine.link_speed import LinkSpeed
from engine.options import EngineOptions
from engine.request import Message, Request
from engine.sampling import SamplingParams


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("30%", 3_000_000_000),
        ("12.5 %", 1_250_000_000),
        ("100%", 10_000_000_000),
        ("all", 10_000_000_000),
        ("ALL", 10_000_000_000),
        ("4GB", 4_000_000_000),
        ("512MiB", 512 << 20),
        (" 1.5 gb ", 1_500_000_000),
        ("99TB", 10_000_000_000),  # never more than there is
    ],
)
def test_cache_sizes_people_write(text: str, n_bytes: int) -> None:
    assert CacheSize.parse(text).bytes_of(10_000_000_000) == n_bytes


@pytest.mark.parametrize(
    "text", ["", "4", "0GB", "-1GB", "4 apples", "GB", "30%%", "1e9", "४GB", "9" * 400 + "GB"]
)
def test_a_cache_size_that_cannot_be_read_says_what_is_accepted(text: str) -> None:
    with pytest.raises(InvalidRequestError, match=r'"30%".*"4GB" or "512MiB", or "all"'):
        CacheSize.parse(text)


@pytest.mark.parametrize("text", ["0%", "101%", "1000%"])
def test_a_share_out_of_range_says_the_range(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="over 0% and up to 100%"):
        CacheSize.parse(text)


@pytest.mark.parametrize(
    ("text", "speed"),
    [
        ("500B/s", 500),
        ("500 bytes/s", 500),
        ("2GB/s", 2_000_000_000),
        ("800 MB/s", 800_000_000),
        ("1GiB/s", 1 << 30),
        ("full", 0),
    ],
)
def test_link_speeds_people_write(text: str, speed: int) -> None:
    assert LinkSpeed.parse(text) == LinkSpeed(speed)


LONG = "9" * 400


@pytest.mark.parametrize(
    "text",
    [
        *("", "2", "2GB", "0GB/s", "fast", "2/s", "GB/s", "99999999TB/s", "9223372036854775808B/s"),
        *(f"{LONG}B/s", f"{LONG}TB/s", "0.1B/s"),
    ],
)
def test_a_link_speed_that_cannot_be_read_says_what_is_accepted(text: str) -> None:
    with pytest.raises(InvalidRequestError, match='"2GB/s" or "800MB/s", or "full"'):
        LinkSpeed.parse(text)


@given(st.one_of(st.text(max_size=20), st.from_regex(r"[0-9.]{1,6} ?[KMGT]?i?B?%?(/s)?")))
def test_any_text_is_read_or_refused(text: str) -> None:
    for kind in (CacheSize, LinkSpeed):
        try:
            assert str(kind.parse(text))
        except InvalidRequestError:
            continue


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (999_700_000, "1 GB"), (4_320_000_000, "4.32 GB")],
)
def test_sizes_are_shown_with_three_digits(n_bytes: int, text: str) -> None:
    assert sizes.show(n_bytes) == text


@given(st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 2000)), st.integers(0, 18))
def test_a_link_speed_reads_back_as_it_is_shown(n: int, zeros: int) -> None:
    for speed in (LinkSpeed(n), LinkSpeed(n % 10**zeros * 10 ** (18 - zeros))):
        assert LinkSpeed.parse(str(speed)) == speed


@pytest.mark.parametrize("text", [f"{LONG}GB", f"{LONG}", f"{LONG}.5GB", "99999999TB"])
def test_a_size_that_no_disk_has_is_none(text: str) -> None:
    assert sizes.parse(text) is None


def test_shown_settings_read_back() -> None:
    for size in ("30%", "all", "4 GB"):
        assert str(CacheSize.parse(size)) == size
    assert str(LinkSpeed.parse("2GB/s")) == "2 GB/s"
    assert str(LinkSpeed()) == "full"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", 0),
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("top_p", 1.1),
        ("min_p", -1),
        ("top_k", -1),
        ("repeat_penalty", 0),
        ("seed", -1),
        ("seed", 1 << 32),
    ],
)
def test_sampling_values_out_of_range_are_named(field: str, value: float) -> None:
    with pytest.raises(InvalidRequestError, match=f"{field} is {value}"):
        SamplingParams(**{field: value})  # type: ignore[arg-type]


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="stop string is empty"):
        SamplingParams(stop=("a", ""))


def test_a_grammar_that_would_exhaust_the_parsers_stack_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="deep"):
        SamplingParams(grammar="root ::= " + "(" * 201 + '"a"' + ")" * 201)
    with pytest.raises(InvalidRequestError, match="half a character"):
        SamplingParams(grammar='root ::= "\ud800"')
    with pytest.raises(InvalidRequestError, match="deep"):  # a comment ends there
        SamplingParams(grammar="root ::= #\r" + "(" * 300)
    with pytest.raises(InvalidRequestError, match="65537 bytes"):
        SamplingParams(grammar="#" * 65537)
    SamplingParams(grammar="root ::= " + '"\\"((("' * 200 + "[(\\](]" * 200 + "# " + "(" * 300)
    SamplingParams(grammar="root ::= " + '("a")' * 2000)


def test_a_request_has_exactly_one_kind_of_prompt() -> None:
    with pytest.raises(InvalidRequestError, match="empty"):
        Request()
    with pytest.raises(InvalidRequestError, match="only one"):
        Request(prompt="x", messages=(Message("user", "x"),))


def test_engine_options_out_of_range_are_named() -> None:
    with pytest.raises(InvalidRequestError, match="n_readers is 0"):
        EngineOptions(n_readers=0)
    with pytest.raises(InvalidRequestError, match="'cloud' is unknown: give pack, gguf, memory"):
        EngineOptions(store="cloud")  # type: ignore[arg-type]
