"""What a client asks of an open engine is answered, whatever the model file brings along."""

import socket
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from engine.client_events import TokensCounted
from engine.engine import Engine
from engine.events import Finished, Notice
from engine.hosted_engine import HostedEngine
from engine.process.frames import FrameReader
from engine.process.outbox import Outbox
from engine.protocol import CountTokens, EngineCommand, HostReport, Submit
from engine.request import Message, Request, RequestId
from tests.helpers import fake_native

CHAT = (Message("user", "hello"),)
PLAIN = "User: hello\nAssistant:"
Asks = Callable[[str, EngineCommand], list[HostReport]]


@pytest.fixture
def asks(fake: types.ModuleType, tmp_path: Path) -> Iterator[Asks]:
    """Opens a model with this chat template, does the command, gives what is said."""
    ours, theirs = socket.socketpair()
    with ours, theirs, ExitStack() as opened:

        def ask(template: str, command: EngineCommand) -> list[HostReport]:
            path = fake_native.write_model(tmp_path / "m.gguf", chat_template=template)
            engine = opened.enter_context(Engine.open(path))
            outbox = Outbox(ours)
            HostedEngine(engine, outbox).do(command)
            for event in engine.poll():
                outbox.put(event)
            outbox.finish()
            reader = FrameReader(msgspec.msgpack.Decoder(HostReport))
            return list(reader.feed(theirs.recv(1 << 20)))

        yield ask


@pytest.mark.parametrize("template", [r"{{ '\ud800' }}", r"{{ raise_exception('\ud800') }}"])
def test_a_template_that_gives_no_characters_gives_way_to_the_plain_one(
    asks: Asks, template: str
) -> None:
    counted, told = asks(template, CountTokens(1, CHAT))
    assert counted == TokensCounted(1, 1 + len(PLAIN))  # with the first token
    assert isinstance(told, Notice) and "a plain one was" in told.text


def test_a_count_that_fails_inside_is_a_count_unknown(
    asks: Asks, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(engine: Engine, request: Request) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Engine, "prompt_of", broken)
    assert asks("", CountTokens(1, CHAT)) == [TokensCounted(1, -1)]
    assert "ZeroDivisionError" in capsys.readouterr().err  # the child's log


def test_a_prompt_that_holds_no_characters_is_refused_in_a_sentence(asks: Asks) -> None:
    said = asks("", Submit(RequestId(3), Request(prompt="caf\udce9")))
    assert isinstance(said[0], Finished) and said[0].reason == "error"
    assert said[0].detail == "The prompt is not UTF-8, near 'caf\\udce9'. Write it in UTF-8."
