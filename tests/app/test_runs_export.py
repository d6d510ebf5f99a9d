"""An export in a process of its own leaves nothing behind that is half-written."""

from pathlib import Path

from pytestqt.qtbot import QtBot

from app.runs.export_process import Export, ExportProcess


def test_nothing_half_written_stays_also_where_the_name_looks_like_a_pattern(
    qtbot: QtBot, tmp_path: Path
) -> None:
    partial = tmp_path / ".a[1].csv-k3v0x_qz"  # as of a process that was killed
    partial.write_bytes(b"step")
    other = tmp_path / ".a1.csv-k3v0x_qz"
    other.write_bytes(b"step")
    process = ExportProcess()
    with qtbot.waitSignal(process.failed, timeout=60_000):
        process.start(Export(tmp_path / "no-such-run", tmp_path / "a[1].csv", "csv"))
    assert not partial.exists()
    assert other.exists()
    process.close()
