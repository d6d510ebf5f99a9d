"""What will fit is worked out from what is known, and says so when something is not."""

from pathlib import Path

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from app.models.fit import Fit, fit, needs_of
from app.models.fit_card import FitCard
from app.models.kv_size import kv_bytes_per_token
from app.models.machine_memory import (
    MachineMemory,
    from_meminfo,
    from_vm_stat,
    machine_memory,
)
from app.models.words import explanation, verdict
from app.theme.theme import Theme
from app.widgets.labels import ElidedLabel
from engine.cache_size import CacheSize
from engine.model_info import ModelInfo
from engine.options import EngineOptions
from tests.helpers.fake_jobs import model_info

GB = 10**9
KV = 100_000


def big() -> ModelInfo:
    """1 GB of weights, 10 GB of experts of 2 MB, 8 of which are used."""
    return msgspec.structs.replace(
        model_info(Path("big.gguf")),
        other_bytes=GB,
        experts_total_bytes=10 * GB,
        expert_bytes=[2_000_000],
        n_expert_used=8,
    )


def answer(
    available: int, *, cache: float = 0.3, context: int = 4096, back: int = 0, kv: int | None = KV
) -> Fit:
    options = EngineOptions(cache=CacheSize(fraction=cache), context=context, max_requests=10)
    return fit(big(), options, kv, MachineMemory(32 * GB, available), back)


def test_everything_that_is_taken_is_counted() -> None:
    options = EngineOptions(cache=CacheSize(fraction=0.5), context=1000, max_requests=2)
    needs = needs_of(big(), options, KV)
    assert (needs.weights, needs.cache, needs.copy) == (GB, 5 * GB, 0)
    assert needs.kv_full == 1000 * 2 * KV
    assert needs.kv_start == 256 * 2 * KV
    assert needs.in_full - needs.at_start == needs.kv_full - needs.kv_start
    in_memory = needs_of(big(), msgspec.structs.replace(options, store="memory"), KV)
    assert in_memory.at_start - needs.at_start == 10 * GB


def test_it_fits_when_full_chats_leave_the_system_its_share() -> None:
    assert answer(20 * GB).verdict == "fits"


def test_it_is_tight_when_only_full_chats_do_not_fit() -> None:
    tight = answer(8 * GB)
    assert tight.verdict == "tight"
    assert tight.needs.at_start < 8 * GB < tight.needs.in_full + tight.spare
    assert "Loading takes" in explanation(tight, 10)
    assert verdict(tight).role == "warning"


def test_it_is_over_when_loading_alone_does_not_fit() -> None:
    over = answer(4 * GB)
    assert over.verdict == "over"
    assert over.lacking == over.needs.at_start - 4 * GB
    assert "smaller cache" in explanation(over, 10)


def test_with_the_smallest_cache_other_programs_are_to_be_closed() -> None:
    over = answer(GB, cache=0.0001)
    assert over.needs.cache == over.minimum == 16_000_000
    assert "Even the smallest cache" in explanation(over, 10)


def test_what_the_open_model_frees_counts_as_available() -> None:
    assert answer(4 * GB).verdict == "over"
    assert answer(4 * GB, back=16 * GB).verdict == "fits"
    assert answer(31 * GB, back=16 * GB).available == 32 * GB


@pytest.mark.parametrize("available", [GB, 8 * GB, 14 * GB, 30 * GB])
def test_the_recommended_cache_fits_and_is_not_wastefully_small(available: int) -> None:
    found = answer(available)
    assert found.minimum <= found.recommended <= 10 * GB
    share = found.recommended / (10 * GB)
    if found.recommended > found.minimum:
        taken = answer(available, cache=share)
        assert taken.verdict == "fits"
        if found.recommended < 10 * GB:
            assert answer(available, cache=min(1.0, share + 0.02)).verdict == "tight"


def test_a_file_that_does_not_say_how_large_chats_become_is_told() -> None:
    unknown = answer(20 * GB, kv=None)
    assert not unknown.needs.kv_known
    assert "not known" in explanation(unknown, 10)


def test_kv_bytes_come_from_the_metadata() -> None:
    def of(interval: str = "", **values: str) -> int | None:
        pairs = [(f"qwen3moe.attention.{name}", value) for name, value in values.items()]
        pairs += [("qwen3moe.full_attention_interval", interval)] if interval else []
        info = msgspec.structs.replace(big(), metadata=pairs, n_layer=48, n_embd=2048)
        return kv_bytes_per_token(info)

    assert of(head_count="32", head_count_kv="4", key_length="128", value_length="128") == 98_304
    assert of(head_count="16") == 48 * 16 * (128 + 128) * 2  # n_embd / heads, each its own keys
    hybrid = of("4", head_count="16", head_count_kv="2", key_length="256", value_length="256")
    assert hybrid == 12 * 2 * 512 * 2
    latent = {"head_count": "16", "head_count_kv": "1", "key_length": "576", "value_length": "512"}
    assert of(**latent, kv_lora_rank="512") == 48 * 576 * 2
    assert of() is None
    assert of(head_count="16", head_count_kv="[48 u32s]") is None  # not the same in all layers
    assert of(head_count="[48 u32s]") is None


@pytest.mark.parametrize("heads", ["²", "٣", "-4", "9" * 5000, "9" * 18])
def test_metadata_that_is_no_sensible_number_says_nothing_of_kv_bytes(heads: str) -> None:
    metadata = [("qwen3moe.attention.head_count", heads)]
    found = kv_bytes_per_token(msgspec.structs.replace(big(), metadata=metadata, n_embd=2 << 60))
    assert found is None


def test_available_memory_is_the_kernels_own_estimate() -> None:
    text = "MemTotal:       16000000 kB\nMemFree:  100 kB\nMemAvailable:    8000000 kB\n"
    assert from_meminfo(text, 1) == MachineMemory(16_000_000 << 10, 8_000_000 << 10)
    old_kernel = "MemTotal:       16000000 kB\nMemFree:  100 kB\n"
    assert from_meminfo(old_kernel, 1).available == 100 << 10


def test_macos_counts_what_is_only_cached_as_available() -> None:
    text = (
        "Mach Virtual Memory Statistics: (page size of 16384 bytes)\n"
        "Pages free:                               10.\n"
        "Pages active:                           1000.\n"
        "Pages inactive:                           20.\n"
        "Pages speculative:                         3.\n"
        "Pages wired down:                        500.\n"
        "Pages purgeable:                           4.\n"
    )
    assert from_vm_stat(text) == 37 * 16384


def test_this_machine_has_memory() -> None:
    memory = machine_memory()
    assert 0 < memory.available <= memory.total


@pytest.mark.parametrize("width", [420, 900])
def test_the_names_of_what_takes_memory_are_never_cut(
    qtbot: QtBot, theme: Theme, width: int
) -> None:
    card = FitCard(theme)
    qtbot.addWidget(card)
    card.show_fit(answer(20 * GB), 10)
    card.resize(width, 400)
    card.show()
    qtbot.waitExposed(card)
    names = [name for name in card.findChildren(ElidedLabel) if name.isVisible()]
    assert len(names) == 6
    qtbot.waitUntil(lambda: all(name.width() >= name.sizeHint().width() for name in names))


def test_names_in_larger_letters_stand_one_below_the_other_at_once(
    qtbot: QtBot, theme: Theme
) -> None:
    card = FitCard(theme)
    qtbot.addWidget(card)
    card.show_fit(answer(20 * GB), 10)
    card.resize(700, 400)
    card.show()
    qtbot.waitExposed(card)
    assert card._n_columns == 2
    font = card.font()
    font.setPixelSize(32)
    card.setFont(font)
    assert card._n_columns == 1
