"""The study's report: pictures, tables and sentences as one HTML file, and as Markdown."""

import base64
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from engine import errors
from engine.atomic_file import write_atomically
from engine.study import style
from engine.study.data import Drawn, NoData, StudyData, StudyFigure, Table, Value

_TEMPLATES = Path(__file__).parent
# Longer tables are folded away.
_SHORT_TABLE = 10


@dataclass(frozen=True)
class Section:
    """One figure of the report; without a picture, `missing` says why."""

    figure: StudyFigure
    drawn: Drawn | None
    missing: str
    png: bytes = b""


@dataclass(frozen=True)
class Study:
    """All that a report tells. `left_out` and `failures` are sentences."""

    data: StudyData
    sections: list[Section]
    n_planned: int
    left_out: Sequence[str] = ()
    failures: Sequence[str] = ()

    @property
    def title(self) -> str:
        """Its headline."""
        kind = "simulated" if self.data.origin.kind == "simulated" else "measured"
        return f"Runahead against its rivals, {kind}: {self.data.origin.model}"

    @property
    def banners(self) -> list[str]:
        """What a reader must know before any figure."""
        origin, scope = self.data.origin, self.data.scope
        found = []
        if origin.kind == "simulated":
            found.append(
                "Everything on this page is simulated: the engine's own scheduler and cache ran on"
                f" a virtual clock, over recorded routing, for the machine {origin.machine}. Its"
                f" figures come from: {origin.source or 'not said'}."
            )
        elif any(run.case.link.emulated for run in self.data.runs):
            found.append(
                "Where a link speed is given, it is emulated: reads are real, and their completion"
                " is paced to that speed. \u201cFull\u201d is what the disk gives."
            )
        if scope.quick:
            found.append(
                f"This is a quick study: {scope.rounds} round of {scope.steps} measured steps per"
                f" case, after {scope.warm_up} of warm-up, and fewer cases. Figures vary by several"
                " percent; the whole study is `runahead figures` without --quick."
            )
        if len(self.data.runs) < self.n_planned:
            found.append(
                f"The study is not finished: {len(self.data.runs)} of {self.n_planned} runs are"
                " there. The same command goes on."
            )
        return found

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What was run on what."""
        origin, scope = self.data.origin, self.data.scope
        made = "simulated" if origin.kind == "simulated" else "measured"
        return [
            ("Model", f"{origin.model} ({origin.experts})"),
            ("Machine", origin.machine),
            (
                "Runs",
                f"{len(self.data.runs)} {made}, each from a cold cache: {scope.warm_up} steps of"
                f" warm-up, then {scope.steps} that count;"
                f" {scope.rounds} round{'s' if scope.rounds > 1 else ''}, interleaved; ratios are"
                " medians of the ratios within each round",
            ),
            ("Settings", ", ".join(f"{name}: {value}" for name, value in origin.settings.items())),
        ]


def draw_study(
    data: StudyData,
    figures: Sequence[StudyFigure],
    *,
    n_planned: int,
    left_out: Sequence[str] = (),
    failures: Sequence[str] = (),
) -> Study:
    """Draw every figure from whatever is there."""
    sections = []
    with style.applied():
        for figure in figures:
            try:
                drawn = figure.draw(data)
            except NoData as error:
                sections.append(Section(figure, None, str(error)))
                continue
            file = io.BytesIO()
            style.save(drawn.picture, file)
            sections.append(Section(figure, drawn, "", file.getvalue()))
    return Study(data, sections, n_planned, left_out, failures)


def write_study(study: Study, folder: Path) -> list[Path]:
    """A PNG and a CSV per figure, report.html and benchmarks.md. Raises StorageError."""
    files: dict[str, bytes] = {}
    for section in study.sections:
        if section.drawn:
            files[f"{section.figure.NAME}.png"] = section.png
            files[f"{section.figure.NAME}.csv"] = csv_of(section.drawn.table).encode()
    files["report.html"] = _render(study, "report.html.jinja").encode()
    files["benchmarks.md"] = _render(study, "benchmarks.md.jinja").encode()
    for name, content in files.items():
        try:
            write_atomically(folder / name, content)
        except OSError as error:
            raise errors.from_os(error, f"{folder / name} cannot be written") from error
    return [folder / name for name in files]


def csv_of(table: Table) -> str:
    """A header and the rows; what is not known is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_plain(value) for value in row] for row in table.rows)
    return file.getvalue()


def shown(value: Value) -> str:
    """A cell for people."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def _plain(value: Value) -> str | int:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else value


def _render(study: Study, template: str) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=jinja2.select_autoescape(["html", "html.jinja"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        shown=shown,
        base64=lambda data: base64.b64encode(data).decode(),
        cell=lambda text: str(text).replace("|", "\\|").replace("\n", " "),
        is_number=lambda value: isinstance(value, int | float),
    )
    return environment.get_template(template).render(study=study, short_table=_SHORT_TABLE)
