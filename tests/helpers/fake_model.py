"""What the fake native module's parts share: its model files, its errors, and faults set by tests.

A "model file" is a JSON object; the engine of any of them has the same small shape.
"""

import json
from pathlib import Path
from typing import Any

BOS, EOS, N_VOCAB = 256, 257, 258
N_LAYER, N_EXPERT, N_USED = 3, 16, 2
RECORD_BYTES = 1 << 20

# Set by a test: function name -> (code, message) that its next calls raise.
faults: dict[str, tuple[str, str]] = {}


class NativeError(Exception):
    pass


def write_model(path: Path, **fields: Any) -> Path:
    """A model file that the fake reads."""
    path.write_text(json.dumps({"name": "Fake 1B", "fingerprint": 0x1234, **fields}))
    return path


def read_model(path: str) -> dict[str, Any]:
    try:
        model: dict[str, Any] = json.loads(Path(path).read_text())
    except FileNotFoundError:
        raise NativeError("io", f"{path}: cannot be opened: No such file or directory") from None
    except ValueError:
        raise NativeError("bad_file", f"{path}: magic is not GGUF") from None
    return model


def fail(name: str) -> None:
    if name in faults:
        raise NativeError(*faults[name])
