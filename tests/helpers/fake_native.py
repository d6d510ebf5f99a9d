"""A fake of engine._native: same names, deterministic, no model and no threads."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine import trace
from tests.helpers.fake_engine import PRESETS, Engine, parse_policy
from tests.helpers.fake_model import (
    BOS,
    N_EXPERT,
    N_LAYER,
    N_USED,
    N_VOCAB,
    RECORD_BYTES,
    NativeError,
    fail,
    faults,
    read_model,
    write_model,
)

__all__ = ["BOS", "Engine", "NativeError", "faults", "parse_policy", "write_model"]

Progress = Callable[[str, int, int], bool]
RECORD_DTYPE = trace.RECORD_FIELDS
POLICY_REVISION = 1
EVENTS = trace.EVENT_NAMES


def quantize(type: str, rows: Any) -> Any:
    raise NotImplementedError


def parse_simulated_policy(text: str) -> str:
    raise NotImplementedError


def simulate(
    experts: Any,
    *,
    n_expert: int,
    probabilities: Any = None,
    lookahead: Any = None,
    policy: str,
    slots: int,
    record_bytes: int,
    front_ms: float = 0.0,
    front_request_ms: float = 0.0,
    group_ms: float = 0.0,
    expert_ms: float = 0.0,
    job_ms: float = 0.0,
    head_ms: float = 0.0,
    head_request_ms: float = 0.0,
    link_bytes_per_s: float,
    link_in_order: bool = False,
    link_latency_ms: float = 0.0,
    n_readers: int = 8,
    interference: float = 0.0,
    timeline: bool = False,
) -> Any:
    raise NotImplementedError


def inspect(path: str) -> dict[str, Any]:
    fail("inspect")
    model = read_model(path)
    total = N_LAYER * N_EXPERT * RECORD_BYTES
    return {
        "path": path,
        "files": [{"path": path, "bytes": total + 1000}],
        "architecture": model.get("architecture", "fakemoe"),
        "name": model["name"],
        "supported": model.get("supported", True),
        "reason": model.get("reason", ""),
        "n_layer": N_LAYER,
        "n_moe_layer": N_LAYER,
        "n_embd": 64,
        "n_expert": N_EXPERT,
        "n_expert_used": N_USED,
        "context_length": 4096,
        "n_vocab": N_VOCAB,
        "expert_bytes": [RECORD_BYTES],
        "experts_per_class": [N_LAYER * N_EXPERT],
        "experts_total_bytes": total,
        "other_bytes": 1000,
        "types": {"q4_0": total, "f32": 1000},
        "chat_template": model.get("chat_template"),
        "fingerprint": model["fingerprint"],
        "metadata": [("general.architecture", "fakemoe"), ("general.name", model["name"])],
        "tensors": [("blk.0.ffn_gate_exps.weight", "q4_0", [64, 128, N_EXPERT], total)],
    }


def presets() -> list[tuple[str, str]]:
    return list(PRESETS.items())


def write_pack(
    model_path: str, pack_path: str, layout: str = "repacked", progress: Progress | None = None
) -> dict[str, Any]:
    model = read_model(model_path)
    partial = Path(pack_path + ".partial")
    try:
        for done in range(4):
            partial.write_text("half")
            if progress is not None and not progress("pack", done, 4):
                raise NativeError("cancelled", "packing was cancelled")
        fail("write_pack")
        partial.write_text(json.dumps({"fingerprint": model["fingerprint"], "layout": layout}))
        partial.rename(pack_path)
    finally:
        partial.unlink(missing_ok=True)
    n = N_LAYER * N_EXPERT
    return {"path": pack_path, "bytes": n * RECORD_BYTES, "experts": n, "layout": layout}


def check_pack(
    pack_path: str, model_path: str, verify: bool, progress: Progress | None = None
) -> str:
    try:
        pack = json.loads(Path(pack_path).read_text())
    except ValueError:
        return "its header is damaged"
    same = pack["fingerprint"] == read_model(model_path)["fingerprint"]
    return "" if same else "it belongs to another model file"
