"""Conversations that look like those of a person, for pictures and for tests that want some."""

from app.data.conversations import Conversations
from app.reply_result import ReplyResult

_DISK = """\
Reading experts from an SSD works because only a few are needed at a time. Three things decide \
how well:

1. **Hit rate.** Experts that are used often stay in memory.
2. **Overlap.** While one request waits for its experts, another computes.
3. **Request size.** One contiguous read per expert beats nine small ones.

A step cannot be shorter than the larger of the two:

```python
def step_ms(compute_ms: float, fetch_ms: float) -> float:
    \"\"\"The bound that runahead inference comes close to.\"\"\"
    return max(compute_ms, fetch_ms)
```

| policy | step | link busy |
| --- | ---: | ---: |
| lockstep | 605 ms | 71 % |
| runahead | 434 ms | 97 % |

So with a slow disk the *miss count* is what remains to be lowered.
"""

_HAIKU = """\
Pages turn to light,
the platter long gone silent:
electrons keep still.
"""

_TRIP = """\
A quiet weekend in the mountains, without a car:

- **Friday** – evening train to the valley, supper at the inn.
- **Saturday** – the ridge path, about five hours, with the hut at half way.
- **Sunday** – the lake, a late breakfast, the noon train back.

Shall I look for the hut's opening times?
"""

_CHATS = (
    (
        "Why reading experts from disk works",
        (
            ("user", "Why can a model run when most of it stays on the disk?"),
            ("assistant", _DISK),
            ("user", "And what limits it in the end?"),
            (
                "assistant",
                "The larger of compute and fetch time. When the disk is slow, every avoided miss"
                " shortens the step; when it is fast, larger groups do, since they share weights.",
            ),
        ),
    ),
    (
        "A haiku about disks",
        (("user", "Write a haiku about disks."), ("assistant", _HAIKU)),
    ),
    (
        "Weekend in the mountains",
        (("user", "Plan a weekend in the mountains for two."), ("assistant", _TRIP)),
    ),
    (
        "Names for a small boat",
        (
            ("user", "A few names for a small sailing boat?"),
            ("assistant", "Petrel, Ola, Nordlys, Kittiwake, Maren, Skerry, Tern, Aurora, Finn."),
        ),
    ),
)


def add_chats(conversations: Conversations) -> list[str]:
    """Add them, oldest last; their ids, newest first."""
    made = []
    for title, turns in reversed(_CHATS):
        conversation = conversations.create(title=title)
        for role, text in turns:
            result = None
            if role == "assistant":
                n_tokens = len(text.split()) * 4 // 3
                result = ReplyResult(
                    reason="stop",
                    n_tokens=n_tokens,
                    tokens_per_s=14.2,
                    first_token_s=0.8,
                    prompt_tokens=64,
                    reused_tokens=40,
                    hit_rate=0.71,
                    model="Qwen3-30B-A3B",
                    policy="bevy",
                )
            conversations.add_message(conversation.id, role, text, result=result)
        made.append(conversation.id)
    return made[::-1]
