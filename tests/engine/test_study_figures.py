"""Every figure and the report, from made-up runs: all of them, some of them, none."""

import csv
import io
import re
from pathlib import Path

import msgspec
import pytest

from engine.study import compare
from engine.study.data import NoData, StudyData, StudyFigure
from engine.study.figures import FIGURES, concurrency, link_speed, orders, static_groups
from engine.study.plan import make_plan
from engine.study.policies import BELADY, static
from engine.study.report import Study, csv_of, draw_study, shown, write_study
from engine.study.results import CaseResult
from engine.study.scope import FULL, QUICK, Scope, simulated
from tests.helpers.fake_source import FakeSource, fake_origin, fake_result, fake_routing

IDS = [figure.NAME for figure in FIGURES]


def runs_of(scope: Scope, rounds: int = 1) -> list[CaseResult]:
    plan = make_plan(FIGURES, msgspec.structs.replace(scope, rounds=rounds), FakeSource(scope))
    return [fake_result(case, scope) for case in plan.cases]


def data_of(scope: Scope, runs: list[CaseResult] | None = None) -> StudyData:
    found = runs_of(scope) if runs is None else runs
    return StudyData(scope, fake_origin(scope.kind), found, fake_routing())


@pytest.mark.parametrize("scope", [QUICK, FULL, simulated(QUICK)], ids=["quick", "full", "sim"])
@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_every_figure_draws_with_table_and_sentence(figure: StudyFigure, scope: Scope) -> None:
    drawn = figure.draw(data_of(scope))
    assert drawn.reading.endswith(".") and len(drawn.reading) > 40
    assert "nan" not in drawn.reading
    assert drawn.table.rows
    assert {len(row) for row in drawn.table.rows} == {len(drawn.table.columns)}
    assert all(axes.get_xlabel() for axes in drawn.picture.axes)
    rows = list(csv.reader(io.StringIO(csv_of(drawn.table))))
    assert rows[0] == list(drawn.table.columns) and len(rows) == len(drawn.table.rows) + 1


@pytest.mark.parametrize("scope", [QUICK, FULL, simulated(FULL)], ids=["quick", "full", "sim"])
@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_no_two_lines_of_a_picture_look_alike(figure: StudyFigure, scope: Scope) -> None:
    for axes in figure.draw(data_of(scope)).picture.axes:
        named = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
        looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in named}
        assert len(looks) == len(named)


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_every_figure_draws_from_part_of_its_runs_or_says_what_is_missing(
    figure: StudyFigure,
) -> None:
    cases = {msgspec.structs.replace(case, round=0) for case in figure.cases(QUICK)}
    runs = [run for run in runs_of(QUICK) if run.case in cases]
    for n in range(len(runs)):
        try:
            drawn = figure.draw(StudyData(QUICK, fake_origin("measured"), runs[:n]))
        except NoData as error:
            assert str(error).endswith(".")
            continue
        assert n > 0 and drawn.table.rows


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_without_data_no_figure_is_drawn(figure: StudyFigure) -> None:
    with pytest.raises(NoData):
        figure.draw(StudyData(QUICK, fake_origin("measured"), []))


def test_tables_of_runs_have_these_columns() -> None:
    drawn = concurrency.draw(data_of(QUICK))
    assert drawn.table.columns == compare.COLUMNS
    row = dict(zip(drawn.table.columns, drawn.table.rows[1], strict=True))
    assert (row["link"], row["requests"], row["policy"]) == (
        "2 GB/s",
        2,
        "llama.cpp (lockstep, LRU per layer)",
    )
    assert isinstance(row["bevy over it"], float) and row["bevy over it"] > 1


def test_speedups_are_over_the_fastest_baseline() -> None:
    data = data_of(QUICK)
    best = compare.fastest(data, QUICK.case("bevy"), ("llama.cpp", "lockstep-lfu", "specmd"))
    assert best
    speeds = {
        policy: data.rounds(QUICK.case(policy))[0].tokens_per_s
        for policy in ("bevy", "llama.cpp", "lockstep-lfu", "specmd")
    }
    fastest = max(("llama.cpp", "lockstep-lfu", "specmd"), key=lambda policy: speeds[policy])
    assert best[0] == fastest
    assert best[1].median == pytest.approx(speeds["bevy"] / speeds[fastest])


def test_ratios_are_medians_of_ratios_within_rounds() -> None:
    a, b = QUICK.case("bevy"), QUICK.case("llama.cpp")
    runs = [
        msgspec.structs.replace(
            fake_result(msgspec.structs.replace(case, round=n), QUICK), tokens_per_s=speed
        )
        for case, speeds in ((a, (10.0, 20.0, 90.0)), (b, (5.0, 20.0, 30.0)))
        for n, speed in enumerate(speeds)
    ]
    ratio = data_of(QUICK, runs).ratio(a, b)
    assert ratio and (ratio.least, ratio.median, ratio.most) == (1, 2, 3)
    assert data_of(QUICK, runs[:3]).ratio(a, b) is None


def test_the_crossover_with_the_static_grouping_is_found_between_speeds() -> None:
    runs = []
    for link, bevy, other in zip(QUICK.sweep, (20.0, 15.0, 9.0), (10.0, 10.0, 10.0), strict=True):
        for policy, speed in (("bevy", bevy), (static(4, 4), other)):
            result = fake_result(QUICK.case(policy, link=link), QUICK)
            runs.append(msgspec.structs.replace(result, tokens_per_s=speed))
    drawn = link_speed.draw(data_of(QUICK, runs))
    # From 1.5 at 2 GB/s to 0.9 at the disk's 4.5 GB/s: 1 at 2 + 2.5 * 5 / 6.
    assert "cross at 4.1 GB/s" in drawn.reading
    assert "2.00× as fast at 1 GB/s and 0.90× at 4.5 GB/s" in drawn.reading


def test_no_crossover_is_told_too() -> None:
    runs = [fake_result(case, QUICK) for case in link_speed.cases(QUICK)]
    runs = [
        msgspec.structs.replace(run, tokens_per_s=20.0 if run.case.policy == "bevy" else 10.0)
        for run in runs
    ]
    assert "they do not cross there" in link_speed.draw(data_of(QUICK, runs)).reading


def test_steps_are_binned_by_what_they_miss() -> None:
    drawn = static_groups.draw(data_of(FULL, runs_of(FULL)))
    rows = [row for row in drawn.table.rows if row[1] == "bevy" and row[0] == "2 GB/s"]
    missing = [float(row[2] or 0) for row in rows]
    assert len(rows) >= 3 and missing == sorted(missing)
    steps = [float(row[3] or 0) for row in rows]
    assert steps[-1] > steps[0]  # at 2 GB/s the link binds


def test_shares_of_groups_add_up() -> None:
    drawn = orders.draw(data_of(QUICK))
    at = drawn.table.columns.index("groups of 1 %")
    for row in drawn.table.rows:
        assert sum(float(value or 0) for value in row[at:]) == pytest.approx(100, abs=0.01)


def test_only_a_simulation_asks_for_the_best_eviction_there_is() -> None:
    def policies(scope: Scope) -> set[str]:
        return {case.policy for figure in FIGURES for case in figure.cases(scope)}

    assert BELADY in policies(simulated(QUICK))
    assert BELADY not in policies(QUICK)


def test_a_link_that_the_disk_did_not_give_is_told_beside_the_figure() -> None:
    runs = runs_of(QUICK)
    slow = [
        msgspec.structs.replace(run, link_gbps=1.4) if run.case == QUICK.case("bevy") else run
        for run in runs
    ]
    assert concurrency.draw(data_of(QUICK, runs)).notes == ()
    (note,) = concurrency.draw(data_of(QUICK, slow)).notes
    assert "at worst 1.4 GB/s instead of 2 GB/s" in note


# The report.


def study_of(scope: Scope, **others: object) -> Study:
    data = data_of(scope)
    return draw_study(data, FIGURES, n_planned=len(data.runs), **others)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    left_out = ["The policy <specmd>: unknown."]
    write_study(study_of(QUICK, left_out=left_out, failures=["bevy: a disk is gone"]), folder)
    return folder


def test_every_figure_has_a_picture_and_a_csv(written: Path) -> None:
    for figure in FIGURES:
        assert (written / f"{figure.NAME}.png").read_bytes().startswith(b"\x89PNG")
        assert (written / f"{figure.NAME}.csv").read_text().count("\n") > 1


def test_the_report_is_one_file_and_escapes_what_it_shows(written: Path) -> None:
    html = (written / "report.html").read_text()
    assert html.count("data:image/png;base64,") == len(FIGURES)
    assert not re.search(r"(src|href)=\"(?!data:|#)", html)
    assert "&lt;specmd&gt;" in html and "<specmd>" not in html
    assert "Failed: bevy: a disk is gone" in html
    assert html.count("<h2") == len(FIGURES) + 2


def test_markdown_links_every_picture_and_its_tables_are_whole(written: Path) -> None:
    text = (written / "benchmarks.md").read_text()
    for figure in FIGURES:
        assert f"]({figure.NAME}.png)" in text
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("| --- |"):
            assert lines[at - 1].count("|") == line.count("|") == lines[at + 1].count("|")
    assert "\n\n\n" not in text


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (QUICK, ("it is emulated", "This is a quick study", "measured")),
        (simulated(FULL), ("Everything on this page is simulated", "made up for a test")),
    ],
    ids=["measured", "simulated"],
)
def test_reports_say_what_is_emulated_simulated_or_short(
    tmp_path: Path, scope: Scope, words: tuple[str, ...]
) -> None:
    write_study(study_of(scope), tmp_path)
    for name in ("report.html", "benchmarks.md"):
        text = (tmp_path / name).read_text()
        assert all(word in text for word in words)
        assert ("quick study" in text) == scope.quick
        assert "(emulated)" not in text if scope.kind == "simulated" else "(emulated)" in text


def test_cells_are_short_and_unknown_ones_empty() -> None:
    assert [shown(value) for value in (None, 1.23456, 123.456, 7, "a")] == [
        *("", "1.23", "123", "7", "a")
    ]
