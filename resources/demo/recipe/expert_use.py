"""How the model's routers use the experts while chats are held on Runahead's engine."""

from collections.abc import Generator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import errors
from engine.bench_models.routing import calibrate
from engine.demo_model import DEMO_CHATS
from engine.engine import Engine
from engine.events import Finished, Piece
from engine.recommended_sampling import RecommendedSampling
from engine.request import Message, Request, RequestId
from engine.sampling import SamplingParams
from engine.simulation.record import Routed, trace_of

N_TOKEN = 400  # of each chat's replies, at least
TEMPERATURE = 0.7
CACHED_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_MOST = 256  # tokens of a reply


def expert_use(engine: Engine) -> dict[str, Any]:
    """Of the four demo chats, held at once; counted are the steps in which all of them are written.

    Raises EngineError when a reply fails.
    """
    n_chat = len(DEMO_CHATS)
    rows, n_reply = _record(engine)
    info = engine.info
    record_bytes = round(info.experts_total_bytes / info.n_experts_total)
    trace = trace_of(rows, n_chat, model=engine.model.title, record_bytes=record_bytes)
    assert trace is not None and trace.lookahead is not None
    routing = trace.experts.astype(np.int32)
    # What the router of each layer says about the input of the layer before it.
    foretold = np.zeros_like(routing)
    early = np.argsort(-trace.lookahead[:, :, :-1, 0].astype(np.float32), axis=-1)
    foretold[:, :, 1:] = early[..., : trace.n_used]
    replayed = [calibrate(routing, trace.n_expert, foretold, cached_share=s) for s in CACHED_SHARES]
    uses = np.stack(
        [
            np.bincount(routing[:, :, layer].ravel(), minlength=trace.n_expert)
            for layer in range(trace.n_layer)
        ]
    )
    return {
        "n_chat": n_chat,
        "n_reply": n_reply,
        "n_step": trace.n_step,
        "n_counted_step": replayed[0].n_step,
        "n_expert": trace.n_expert,
        "n_used": trace.n_used,
        "record_bytes": record_bytes,
        "lfu_hit": {str(each.cached_share): each.lfu_hit for each in replayed},
        "next_router_recall": replayed[0].prediction_recall,
        "repeat_share": replayed[0].repeat_share,
        "effective_experts": effective(uses),
        "never_used": int((uses == 0).sum()),
    }


def _record(engine: Engine) -> tuple[Routed, int]:
    """What the routers said, requests numbered by their chats; and how many replies there were.

    In each chat a reply follows the other until every chat has N_TOKEN tokens.
    """
    asked = [_turns(n, engine.model.sampling) for n in range(len(DEMO_CHATS))]
    n_token = [0] * len(asked)
    chat_of: dict[RequestId, int] = {}
    texts: dict[RequestId, str] = {}

    def ask(chat: int, said: str | None) -> None:
        request = engine.submit(asked[chat].send(said))
        chat_of[request], texts[request] = chat, ""

    engine.record_routing(1)
    try:
        for chat in range(len(asked)):
            ask(chat, None)
        n_ended = 0
        while n_ended < len(chat_of):
            engine.wait(0.1)
            for event in engine.poll():
                if isinstance(event, Piece):
                    texts[event.request] += event.text
                    n_token[chat_of[event.request]] += len(event.tokens)
                elif isinstance(event, Finished):
                    n_ended += 1
                    if event.reason not in ("stop", "length"):
                        raise errors.EngineError(f"A reply failed: {event.detail or event.reason}")
                    if min(n_token) < N_TOKEN:
                        ask(chat_of[event.request], texts[event.request])
        routed = engine.take_routing()
    finally:
        engine.record_routing(None)
    if routed.pop("dropped"):
        raise errors.EngineError("Routing came faster than it could be kept", "Try again.")
    chats = np.array([chat_of[RequestId(int(number))] for number in routed["request"]], np.int32)
    return routed | {"request": chats}, len(chat_of)


def _turns(chat: int, recommended: RecommendedSampling) -> Generator[Request, str | None, None]:
    """The requests of one of the chats, each sent the reply to the one before it.

    After its last turn the chat begins again, with other seeds.
    """
    for seed in count(chat, len(DEMO_CHATS)):
        messages: list[Message] = []
        for question in DEMO_CHATS[chat]:
            messages.append(Message("user", question))
            params = recommended.applied(
                SamplingParams(temperature=TEMPERATURE, seed=seed, max_tokens=_MOST)
            )
            said = yield Request(messages=tuple(messages), params=params)
            messages.append(Message("assistant", said or ""))


def effective(uses: NDArray[np.int64]) -> list[float]:
    """Per layer, how many equally used experts would have the entropy of `uses` [layer, expert]."""
    shares = uses / uses.sum(axis=1, keepdims=True)
    surprise = -np.log(shares, where=shares > 0, out=np.zeros_like(shares))
    return [float(n) for n in np.exp((shares * surprise).sum(axis=1))]
