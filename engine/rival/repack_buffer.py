"""ggml's CPU_REPACK buffer type for llama.cpp, for CPUs where llama.cpp would rather take AMX.

llama.cpp's own choice of extra buffer types puts AMX first; only tensor overrides make it take
CPU_REPACK instead, and they must name no tensor that CPU_REPACK has no kernels for.
"""

import ctypes
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import llama_cpp.llama_cpp as lib

CPU_DEVICE = 0  # GGML_BACKEND_DEVICE_TYPE_CPU
# ggml types with repacked kernels on x86: Q4_0, Q2_K, Q4_K, IQ4_NL, MXFP4.
REPACKED_TYPES = {2, 10, 12, 20, 39}
EXPERTS = "_exps."  # in names of tensors that hold all experts of a layer
NOT_MULTIPLIED = {"token_embd.weight"}  # its rows are looked up
INTERLEAVED = 8  # rows that the kernels take together


class Override(ctypes.Structure):
    """llama_model_tensor_buft_override."""

    _fields_ = (("pattern", ctypes.c_char_p), ("buffer_type", ctypes.c_void_p))


class TensorHead(ctypes.Structure):
    """How a ggml_tensor begins."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("ne", ctypes.c_int64 * 4),
        ("nb", ctypes.c_size_t * 4),
    )


class _GgufInitParams(ctypes.Structure):
    _fields_ = (("no_alloc", ctypes.c_bool), ("ctx", ctypes.POINTER(ctypes.c_void_p)))


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
    for name, tensor in _tensors(model_path):
        is_experts = EXPERTS in name
        if not _can_repack(tensor, is_experts) or name in NOT_MULTIPLIED:
            continue
        if shared_only and is_experts:
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


def _can_repack(tensor: TensorHead, is_experts: bool) -> bool:
    _, n_rows, n_matrices, _ = tensor.ne
    kernels = tensor.type in REPACKED_TYPES and n_rows % INTERLEAVED == 0
    # One matrix for each head, as in latent attention, is multiplied by the plain kernels.
    return kernels and (is_experts or n_matrices == 1)


def _tensors(model_path: str) -> Iterator[tuple[str, TensorHead]]:
    pointer = ctypes.c_void_p
    open_file = _function("gguf_init_from_file", pointer, ctypes.c_char_p, _GgufInitParams)
    name_of = _function("ggml_get_name", ctypes.c_char_p, pointer)
    next_tensor = _function("ggml_get_next_tensor", pointer, pointer, pointer)
    context = pointer()
    opened = open_file(model_path.encode(), _GgufInitParams(True, ctypes.pointer(context)))
    if opened is None:
        raise RuntimeError(f"{model_path} is not a GGUF")
    try:
        tensor = _function("ggml_get_first_tensor", pointer, pointer)(context)
        while tensor is not None:
            yield name_of(tensor).decode(), TensorHead.from_address(tensor)
            tensor = next_tensor(context, tensor)
    finally:
        _function("gguf_free", None, pointer)(opened)
        _function("ggml_free", None, pointer)(context)
