"""MachineModel: what computing and reading cost on a machine, fitted to a run or to figures."""

import math
from pathlib import Path

import msgspec

from engine import errors, sizes

_FOLDER = Path(__file__).parent / "machines"


class Residual(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far the model is from one figure that it was fitted to, or checked against."""

    what: str
    unit: str
    given: float
    predicted: float

    @property
    def error(self) -> float:
        """Of the prediction, as a share of what is given."""
        return self.predicted / self.given - 1 if self.given else 0.0


class MachineModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The costs that native/sim/cost_model.h takes. Raises InvalidRequestError.

    Attributes:
        source: Where the figures come from, and what was fitted to what.
        model: Whose groups cost this; another model's differ.
        record_bytes: Of one expert of that model; 0: unknown.
        front_ms: Attention and router of layer 0 for all requests; front_request_ms more for each.
        group_ms: One group; expert_ms more for each distinct expert, job_ms for each job.
        head_ms: LM head and sampling for all requests; head_request_ms more for each.
        link_in_order: Reads get the whole link one after the other, as when it is emulated; else
            they share it evenly.
        link_latency_ms: Of every read, before its bytes flow.
        n_readers: Reads at a time.
        interference: While bytes flow over the link, compute takes 1 + interference times as long.
        residuals: What the model says beside what it was fitted to.
    """

    name: str
    title: str
    source: str
    front_ms: float
    group_ms: float
    expert_ms: float
    job_ms: float
    head_ms: float
    link_bytes_per_s: float
    link_latency_ms: float
    n_readers: int
    interference: float
    front_request_ms: float = 0.0
    head_request_ms: float = 0.0
    link_in_order: bool = False
    model: str = ""
    record_bytes: int = 0
    residuals: tuple[Residual, ...] = ()

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, int | float) and not (math.isfinite(value) and value >= 0):
                raise errors.InvalidRequestError(f"Machine {self.name}: {name} is {value}")
        for name in ("link_bytes_per_s", "n_readers"):
            if not getattr(self, name):
                raise errors.InvalidRequestError(f"Machine {self.name}: {name} is 0")
        if self.n_readers > 255:
            raise errors.InvalidRequestError(f"Machine {self.name}: n_readers is over 255")

    @classmethod
    def load(cls, name_or_path: str | Path) -> "MachineModel":
        """One of `machine_names()`, or a file. Raises ModelFileError or StorageError."""
        known = str(name_or_path) in machine_names()
        path = _FOLDER / f"{name_or_path}.json" if known else Path(name_or_path)
        if not known and not path.exists():
            is_file = path.suffix == ".json" or len(path.parts) > 1
            raise errors.StorageError(
                f"There is no file {path}" if is_file else f"There is no machine {name_or_path}",
                f"Machines that come with Runahead are {', '.join(machine_names())}; `runahead"
                " calibrate` makes a file for this computer.",
            )
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except OSError as error:
            raise errors.from_os(error, f"The machine {path} cannot be read") from error
        except (msgspec.DecodeError, UnicodeDecodeError, errors.InvalidRequestError) as error:
            raise errors.ModelFileError(
                f"{path} is no machine file: {error}", "`runahead calibrate` makes one."
            ) from error

    def with_link(self, bytes_per_s: float) -> "MachineModel":
        """The same machine with another link."""
        return msgspec.structs.replace(self, link_bytes_per_s=bytes_per_s)

    def group_cost_ms(self, n_distinct: float, n_job: float) -> float:
        """A group of `n_job` jobs that use `n_distinct` experts, when nothing disturbs it."""
        return self.group_ms + self.expert_ms * n_distinct + self.job_ms * n_job

    def summary(self) -> str:
        """One line for a person."""
        return (
            f"{self.title}: link {sizes.show(self.link_bytes_per_s)}/s, {self.n_readers} readers,"
            f" a group {self.group_ms:.3g} ms + {self.expert_ms:.3g} per expert"
            f" + {self.job_ms:.3g} per job"
        )


def machine_names() -> list[str]:
    """The machines that come with Runahead."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))
