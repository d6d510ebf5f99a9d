"""OPTIONS: every setting there is. The page, the file and the checks are made from these."""

from typing import Any

from app.settings.option import Option
from app.theme.theme import DEFAULT_FONT_SIZE
from engine.link_speed import LinkSpeed
from engine.options import MAX_REQUESTS, EngineOptions

_ENGINE = EngineOptions()

APPEARANCE = (
    Option(
        name="theme",
        kind="choice",
        default="system",
        choices=(("system", "As the system"), ("light", "Light"), ("dark", "Dark")),
        label="Theme",
        help="Light, dark, or whichever of them the system has now.",
        section="Appearance",
    ),
    Option(
        name="font_size",
        kind="number",
        default=DEFAULT_FONT_SIZE,
        low=8,
        high=24,
        step=0.5,
        unit=" pt",
        label="Font size",
        help="Of all text in the window.",
        section="Appearance",
    ),
)

CHATS = (
    Option(
        name="send_with",
        kind="choice",
        default="enter",
        choices=(("enter", "Enter"), ("ctrl+enter", "Ctrl+Enter")),
        label="Send with",
        help="The other one begins a new line; Shift+Enter always does.",
        section="Chats",
    ),
    Option(
        name="show_thinking",
        kind="switch",
        default=False,
        label="Unfold thinking",
        help="Show what a model thinks before it answers, instead of one line that unfolds.",
        section="Chats",
    ),
    Option(
        name="system_prompt",
        kind="prose",
        default="",
        label="System prompt",
        help="What new chats tell the model about itself. Each chat can change its own.",
        section="Chats",
    ),
    Option(
        name="preset",
        kind="text",
        default="Model's own",
        label="Sampling of new chats",
        help="How freely the model chooses its words. Each chat can change its own.",
        section="Chats",
    ),
    Option(
        name="presets",
        kind="presets",
        default=(),
        label="Sampling presets",
        help="Your own ways of choosing words, beside those that are built in.",
        section="Chats",
    ),
)

ENGINE = (
    Option(
        name="cache_fraction",
        kind="share",
        default=0.3,
        low=0.01,
        high=1.0,
        step=0.05,
        label="Expert cache",
        help="Memory for experts, as a share of all experts of the model. More is faster, until "
        "the computer has to swap. The slider in the monitor changes it while text streams.",
        section="Engine",
    ),
    Option(
        name="policy",
        kind="text",
        default=_ENGINE.policy,
        choices=(
            ("bevy", "Runahead"),
            ("bevy+prefetch", "Runahead with prefetching"),
            ("lockstep-lfu", "Lockstep, LFU"),
            ("llama.cpp", "Lockstep, LRU per layer (as llama.cpp)"),
            ("mixtral-offloading", "Mixtral offloading"),
            ("specmd", "SpecMD"),
            ("finemoe", "FineMoE"),
            ("promoe", "ProMoE"),
            ("prescope", "PreScope"),
        ),
        label="Policy",
        help="How computing and reading are arranged. bevy is runahead inference; the others are "
        "rivals to compare it with.",
        section="Engine",
    ),
    Option(
        name="store",
        kind="choice",
        default=_ENGINE.store,
        choices=(
            ("pack", "Expert pack (fastest)"),
            ("gguf", "Model file in place (no extra disk space)"),
            ("memory", "Memory (only if all experts fit)"),
        ),
        label="Read experts from",
        help="An expert pack is a copy of the experts in the order they are read; it takes about "
        "as much disk space as the model.",
        section="Engine",
        effect="reload",
    ),
    Option(
        name="context",
        kind="whole",
        default=_ENGINE.context,
        low=256,
        high=1 << 20,
        step=1024,
        unit=" tokens",
        label="Context",
        help="Most tokens of one chat, prompt and replies together. More takes more memory per "
        "chat. A model that was trained for less gets less.",
        section="Engine",
        effect="reload",
    ),
    Option(
        name="max_requests",
        kind="whole",
        default=_ENGINE.max_requests,
        low=1,
        high=MAX_REQUESTS,
        label="Replies at once",
        help="Most replies that are computed together; more wait for their turn.",
        section="Engine",
        effect="reload",
    ),
    Option(
        name="n_threads",
        kind="whole",
        default=_ENGINE.n_threads,
        low=0,
        high=512,
        zero="All cores",
        label="Threads",
        help="Processor threads that compute.",
        section="Engine",
        effect="reload",
    ),
    Option(
        name="n_readers",
        kind="whole",
        default=_ENGINE.n_readers,
        low=1,
        high=64,
        label="Readers",
        help="Reads from the disk at the same time. Fast SSDs want 4 to 16.",
        section="Engine",
        effect="reload",
    ),
    Option(
        name="link",
        kind="text",
        default=str(_ENGINE.link),
        check=LinkSpeed.parse,
        label="Link speed",
        help='"full" reads as fast as the disk can. A speed such as "2GB/s" slows reads down, to '
        "see how a slower disk would do; figures then say that it is emulated.",
        section="Engine",
    ),
    Option(
        name="verify_reads",
        kind="switch",
        default=_ENGINE.verify_reads,
        label="Verify every read",
        help="Compare each expert with its checksum whenever it is read. Finds failing disks; "
        "takes some processor time.",
        section="Engine",
        effect="reload",
    ),
)

STORAGE = (
    Option(
        name="keep_runs",
        kind="whole",
        default=_ENGINE.keep_runs,
        low=1,
        high=1000,
        unit=" runs",
        label="Keep run logs",
        help="The oldest go when there are more.",
        section="Storage",
    ),
    Option(
        name="keep_runs_bytes",
        kind="bytes",
        default=_ENGINE.keep_runs_bytes,
        low=10_000_000,
        high=1 << 40,
        label="Space for run logs",
        help="The oldest go when all together take more.",
        section="Storage",
    ),
)

PRIVACY = (
    Option(
        name="keep_crash_reports",
        kind="switch",
        default=True,
        label="Keep crash reports",
        help="When something fails, write what happened to a file on this computer. Nothing is "
        "sent anywhere: you decide whether to attach it to a bug report.",
        section="Privacy & reports",
    ),
    Option(
        name="run_log",
        kind="switch",
        default=True,
        label="Keep a log of each run",
        help="What the engine computed and read, and when, for the Runs page. It holds no text of "
        "chats.",
        section="Privacy & reports",
        effect="reload",
    ),
)

# What the window remembers by itself.
REMEMBERED = (
    Option(name="window_geometry", kind="text", default=""),
    Option(name="window_state", kind="text", default=""),
    Option(name="last_page", kind="text", default=""),
    Option(name="last_model", kind="text", default=""),
    Option(name="last_models_folder", kind="text", default=""),
    Option(name="last_files_folder", kind="text", default=""),
    Option(name="open_chats", kind="lines", default=()),
    Option(name="current_chat", kind="text", default=""),
    Option(name="data_folder", kind="text", default=""),
    Option(name="next_data_folder", kind="text", default=""),
)

OPTIONS: tuple[Option, ...] = (*APPEARANCE, *CHATS, *ENGINE, *STORAGE, *PRIVACY, *REMEMBERED)
BY_NAME: dict[str, Option] = {option.name: option for option in OPTIONS}


def defaults() -> dict[str, Any]:
    """Every option's default."""
    return {option.name: option.default for option in OPTIONS}
