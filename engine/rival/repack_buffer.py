"""ggml's CPU_REPACK buffer type for llama.cpp, for CPUs where llama.cpp would rather take AMX.

llama.cpp's own choice of extra buffer types puts AMX first; only tensor overrides make it take
CPU_REPACK instead, and they must name no tensor that CPU_REPACK has no kernels for.
"""

import ctypes
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import llama_cpp.llama_cpp as lib

CPU_DEVICE = 0  # GGML_BACKEND_DEVICE_TYPE_CPU
# ggml types with repacked kernels on x86: Q4_0, Q2_K, Q4_K, IQ4_NL, MXFP4.
REPACKED_TYPES = {2, 10, 12, 20, 39}
EXPERTS = "_exps."  # in names of tensors that hold all experts of a layer
NOT_MULTIPLIED = {"token_embd.weight"}  # its rows are looked up


class Override(ctypes.Structure):
    """llama_model_tensor_buft_override."""

    _fields_ = (("pattern", ctypes.c_char_p), ("buffer_type", ctypes.c_void_p))


class _GgufInitParams(ctypes.Structure):
    _fields_ = (("no_alloc", ctypes.c_bool), ("ctx", ctypes.c_void_p))


def _function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    # libllama's handle also finds the symbols of the ggml libraries that it loads.
    found: Callable[..., Any] = lib._lib[name]
    found.restype, found.argtypes = result, arguments  # type: ignore[attr-defined]
    return found


def extra_buffer_types() -> dict[str, int]:
    """The CPU's extra buffer types: address by name, in the order in which llama.cpp tries them."""
    pointer = ctypes.c_void_p
    cpu = _function("ggml_backend_dev_by_type", pointer, ctypes.c_int)(CPU_DEVICE)
    registry = _function("ggml_backend_dev_backend_reg", pointer, pointer)(cpu)
    address = _function("ggml_backend_reg_get_proc_address", pointer, pointer, ctypes.c_char_p)
    name_of = _function("ggml_backend_buft_name", ctypes.c_char_p, pointer)
    list_extra = ctypes.CFUNCTYPE(ctypes.POINTER(pointer), pointer)(
        address(registry, b"ggml_backend_dev_get_extra_bufts")
    )
    found = {}
    for buffer_type in list_extra(cpu):
        if buffer_type is None:  # the list's end
            break
        found[name_of(buffer_type).decode()] = int(buffer_type)
    return found


def repack_overrides(model_path: str, *, shared_only: bool = False) -> "ctypes.Array[Override]":
    """What llama_model_params.tensor_buft_overrides points to; keep it alive while loading.

    shared_only: without the experts. Of a split model, the tensors of its first file.
    """
    patterns: list[str] = []
    layers: dict[str, list[str]] = defaultdict(list)  # of each role, those that can be repacked
    for name, ggml_type in _tensor_types(model_path):
        if ggml_type not in REPACKED_TYPES or name in NOT_MULTIPLIED:
            continue
        if shared_only and EXPERTS in name:
            continue
        if name.startswith("blk."):
            _, layer, role = name.split(".", 2)
            layers[role].append(layer)
        else:
            patterns.append(f"^{name}$")
    patterns += [rf"^blk\.({'|'.join(of_role)})\.{role}$" for role, of_role in layers.items()]
    buffer_type = extra_buffer_types()["CPU_REPACK"]
    entries = [Override(pattern.encode(), buffer_type) for pattern in patterns]
    return (Override * (len(entries) + 1))(*entries, Override(None, None))


def _tensor_types(model_path: str) -> list[tuple[str, int]]:
    pointer, index = ctypes.c_void_p, ctypes.c_int64
    opened = _function("gguf_init_from_file", pointer, ctypes.c_char_p, _GgufInitParams)(
        model_path.encode(), _GgufInitParams(True, None)
    )
    if opened is None:
        raise RuntimeError(f"{model_path} is not a GGUF")
    name_of = _function("gguf_get_tensor_name", ctypes.c_char_p, pointer, index)
    type_of = _function("gguf_get_tensor_type", ctypes.c_int, pointer, index)
    n_tensors = _function("gguf_get_n_tensors", index, pointer)(opened)
    tensors = [(name_of(opened, i).decode(), type_of(opened, i)) for i in range(n_tensors)]
    _function("gguf_free", None, pointer)(opened)
    return tensors
