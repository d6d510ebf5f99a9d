"""Shapes of the models that `make-model` can imitate. What else a family has is in families.py."""

import msgspec

from engine.bench_models.errors import BenchModelError


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of one model; the names are llama.cpp's."""

    name: str
    family: str = "qwen3moe"
    n_layer: int
    n_embd: int
    n_head: int
    n_head_kv: int
    head_dim: int
    n_expert: int
    n_expert_used: int
    n_ff_exp: int
    n_ff: int  # of the dense layers the true model could have; only written down
    context: int
    rope_base: float = 1e6
    rms_eps: float = 1e-6


# Sources: the models' published config.json.
SHAPES = {
    shape.name: shape
    for shape in (
        Shape(
            name="qwen3-30b-a3b",
            n_layer=48,
            n_embd=2048,
            n_head=32,
            n_head_kv=4,
            head_dim=128,
            n_expert=128,
            n_expert_used=8,
            n_ff_exp=768,
            n_ff=6144,
            context=40960,
        ),
        # Only the experts are the true model's (1.77 MB each in Q4_0). It mixes linear and full
        # attention and has a shared expert; here every layer has the full attention.
        Shape(
            name="qwen3.6-35b-a3b-experts",
            n_layer=40,
            n_embd=2048,
            n_head=16,
            n_head_kv=2,
            head_dim=256,
            n_expert=256,
            n_expert_used=8,
            n_ff_exp=512,
            n_ff=6144,
            context=40960,
        ),
        Shape(
            name="qwen3.6-35b-a3b",
            family="qwen35moe",
            n_layer=40,
            n_embd=2048,
            n_head=16,
            n_head_kv=2,
            head_dim=256,
            n_expert=256,
            n_expert_used=8,
            n_ff_exp=512,
            n_ff=512,
            context=262144,
            rope_base=1e7,
        ),
        # Heads of the layers with a window; global ones have other sizes.
        Shape(
            name="gemma4-26b-a4b",
            family="gemma4",
            n_layer=30,
            n_embd=2816,
            n_head=16,
            n_head_kv=8,
            head_dim=256,
            n_expert=128,
            n_expert_used=8,
            n_ff_exp=704,
            n_ff=2112,
            context=262144,
        ),
        Shape(
            name="gpt-oss-20b",
            family="gpt-oss",
            n_layer=24,
            n_embd=2880,
            n_head=64,
            n_head_kv=8,
            head_dim=64,
            n_expert=32,
            n_expert_used=4,
            n_ff_exp=2880,
            n_ff=2880,
            context=131072,
            rope_base=150000.0,
            rms_eps=1e-5,
        ),
        Shape(
            name="tiny",
            n_layer=4,
            n_embd=256,
            n_head=4,
            n_head_kv=2,
            head_dim=64,
            n_expert=16,
            n_expert_used=4,
            n_ff_exp=256,
            n_ff=512,
            context=4096,
        ),
    )
}


def shape_like(name: str, **overrides: int) -> Shape:
    """The named shape with some sizes replaced. Raises BenchModelError("invalid")."""
    if name not in SHAPES:
        raise BenchModelError(
            "invalid", f"unknown model shape '{name}'; known are {', '.join(sorted(SHAPES))}"
        )
    for field in overrides:
        if field not in Shape.__struct_fields__ or field in (
            "name",
            "family",
            "rope_base",
            "rms_eps",
        ):
            raise BenchModelError("invalid", f"a shape has no size '{field}'")
    shape = msgspec.structs.replace(SHAPES[name], **overrides)
    _check(shape)
    return shape


def _check(shape: Shape) -> None:
    limits = {  # llama.cpp's own limits where it has some
        "n_layer": (1, 512),
        "n_embd": (64, 1 << 16),
        "n_head": (1, 512),
        "n_head_kv": (1, 512),
        "head_dim": (32, 1024),
        "n_expert": (2, 1024),
        "n_expert_used": (1, 1024),
        "n_ff_exp": (32, 1 << 16),
        "n_ff": (1, 1 << 20),
        "context": (64, 1 << 24),
    }
    for field, (low, high) in limits.items():
        value = getattr(shape, field)
        if not low <= value <= high:
            raise BenchModelError("invalid", f"{field} is {value}, not {low} to {high}")
    for field in ("n_embd", "head_dim", "n_ff_exp"):
        if getattr(shape, field) % 32:
            raise BenchModelError(
                "invalid", f"{field} is {getattr(shape, field)}, not a multiple of 32"
            )
    if shape.n_head % shape.n_head_kv:
        raise BenchModelError(
            "invalid", f"n_head {shape.n_head} is not a multiple of n_head_kv {shape.n_head_kv}"
        )
    if shape.n_expert_used > shape.n_expert:
        raise BenchModelError(
            "invalid", f"n_expert_used {shape.n_expert_used} exceeds n_expert {shape.n_expert}"
        )
