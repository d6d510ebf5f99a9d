"""Markdown becomes the same blocks however it arrives, and nothing in it can do harm."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.highlight import Highlight
from app.chat.markdown import Block, BlockSplitter

LINES = st.sampled_from(
    [
        *("text", "more *text*", "", "", "- item", "  - inner", "1. one", "2. two", "# Title"),
        *("```python", "```", "def f():", "    code", "| a | b |", "|---|---|", "| 1 | 2 |"),
        *("> quote", "---", "===", "   indented", "[r]: https://x.org", "see [r]", "* * *", "~~~"),
    ]
)


def blocks_of(text: str) -> list[Block]:
    splitter = BlockSplitter()
    splitter.feed(text, is_final=True)
    return splitter.blocks


def shown(blocks: list[Block]) -> list[tuple[str, str, str]]:
    return [(each.kind, each.html(), each.code) for each in blocks]


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=14), st.data())
def test_a_text_that_streams_ends_as_the_same_blocks_as_the_whole(
    lines: list[str], data: st.DataObject
) -> None:
    text = "\n".join(lines)
    splitter = BlockSplitter()
    end = 0
    while end < len(text):
        end = min(len(text), end + data.draw(st.integers(1, 9)))
        splitter.feed(text[:end])
    splitter.feed(text, is_final=True)
    assert shown(splitter.blocks) == shown(blocks_of(text))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (r"# 1\. Rome", "<h1>1. Rome</h1>"),
        (r"\*not\* *so* \[x\]", "<p>*not* <em>so</em> [x]</p>"),
        ("AT&amp;T &copy; 1 < 2", "<p>AT&amp;T © 1 &lt; 2</p>"),
        (r"`a\*b` \<br\>", r"<p><code>a\*b</code> &lt;br&gt;</p>"),
    ],
)
def test_escapes_and_entities_are_what_they_stand_for(text: str, html: str) -> None:
    assert "".join(block.html() for block in blocks_of(text)) == html


def test_finished_blocks_are_not_read_again() -> None:
    splitter = BlockSplitter()
    splitter.feed("one\n\ntwo\n\nthree\n")
    before = splitter.blocks[0]
    assert splitter.n_frozen == 2
    assert splitter.feed("one\n\ntwo\n\nthree\n\nfour") == 2
    assert splitter.blocks[0] is before


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "vbscript:x", "//x.org", "x"],
)
def test_links_lead_to_the_web_and_to_mail_only(address: str) -> None:
    (block,) = blocks_of(f"[text]({address}) and <{address}>")
    assert "href" not in block.html()


def test_raw_html_stays_text_and_images_are_never_loaded() -> None:
    html = "".join(
        each.html() for each in blocks_of("<script>x</script> <b>b</b>\n\n![i](https://x/y.png)")
    )
    assert "<script" not in html
    assert "<b>" not in html
    assert "<img" not in html
    assert '<a href="https://x/y.png">[i]</a>' in html


def test_addresses_that_are_written_out_become_links_without_what_follows_them() -> None:
    (block,) = blocks_of("See https://a.org/b?c=1, or (https://d.org).")
    assert block.html().count("<a href") == 2
    assert 'href="https://a.org/b?c=1"' in block.html()
    assert 'href="https://d.org"' in block.html()


def test_a_paragraph_of_marks_that_never_close_stays_plain_and_whole() -> None:
    splitter = BlockSplitter()
    text = "**a*b [<\n" * 4000
    splitter.feed(text, is_final=True)
    begun = time.perf_counter()
    html = splitter.blocks[0].html()
    assert time.perf_counter() - begun < 0.5
    assert html.count("**a*b [&lt;<br>") >= 3999


def test_code_inside_a_list_can_be_copied_by_itself() -> None:
    blocks = blocks_of("1. first\n   ```sh\n   ls\n   ```\n   after\n2. second")
    assert [(each.kind, each.indent) for each in blocks] == [
        ("text", 0),
        ("code", 1),
        ("text", 1),
        ("text", 0),
    ]
    assert blocks[1].code == "ls"
    assert 'start="2"' in blocks[3].html()


def test_a_highlight_goes_on_where_its_time_ran_out() -> None:
    code = "\n".join(f"def f{n}(): return {n}" for n in range(200))
    highlight = Highlight("python")
    highlight.set_code(code)
    n_steps = 0
    while not highlight.is_done:
        highlight.advance(0.0)
        n_steps += 1
    assert n_steps > 5
    assert len(highlight.lines) >= 200
    assert highlight.lines[199][0] == (0, 3, "Keyword")


def test_code_that_grows_keeps_its_colours() -> None:
    highlight = Highlight("python")
    highlight.set_code("def f():\n")
    highlight.advance(float("inf"))
    before = list(highlight.lines[0])
    highlight.set_code("def f():\n    return 1")
    assert not highlight.is_done
    highlight.advance(float("inf"))
    assert highlight.lines[0] == before
    assert any(kind.startswith("Keyword") for _, _, kind in highlight.lines[1])


def test_an_unknown_language_is_shown_plain() -> None:
    highlight = Highlight("no-such-language")
    highlight.set_code("x")
    highlight.advance(float("inf"))
    assert highlight.is_done


def test_a_carriage_return_within_a_line_costs_nothing_of_a_reply_that_streams() -> None:
    text = "10 %\r20 %\n# Result\n\n- one\n\nAll done.\r\n"
    whole, grown = BlockSplitter(), BlockSplitter()
    whole.feed(text, is_final=True)
    for n in range(1, len(text)):
        grown.feed(text[:n])
    grown.feed(text, is_final=True)
    assert [each.html() for each in grown.blocks] == [each.html() for each in whole.blocks]
    assert [each.source for each in whole.blocks][1] == "# Result\n"


def test_a_line_that_would_take_a_lexer_minutes_in_one_step_stays_plain() -> None:
    highlight = Highlight("ini")
    highlight.set_code("[a]\nb = 1\n" + "a:" * 20_000)
    began = time.perf_counter()
    while not highlight.is_done:
        highlight.advance(time.perf_counter() + 0.01)
    assert time.perf_counter() - began < 1
    highlight.set_code("[a]\nb = 1\n")
    highlight.advance(time.perf_counter() + 5)
    assert highlight.is_done and highlight.lines[1]
