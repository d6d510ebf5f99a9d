"""The command line over the fake engine: output, errors, exit codes, and nothing half-written."""

import io
import json
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest
from rich.console import Console

from engine import native
from engine.cli import generate
from engine.cli.live_view import ColumnsView
from engine.cli.main import main
from engine.cli.replies import Reply
from engine.cli.terminal import visible
from engine.events import Finished, Notice, Piece, PrefillProgress
from engine.request import RequestId
from tests.helpers import fake_native

pytestmark = pytest.mark.usefixtures("fake")


def output(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = main([str(arg) for arg in args])
    out, err = capsys.readouterr()
    return code, out, err


def test_one_prompt_gives_its_reply_and_nothing_else_on_stdout(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = output(capsys, "generate", model, "-p", "hi", "--max-tokens", 5)
    assert code == 0
    assert out.endswith("\n") and out.count("\n") == 1
    assert "tokens/s" in err and "run log:" in err


def test_several_prompts_are_lines_with_their_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = fake_native.write_model(tmp_path / "m.gguf", reply="first\nsecond")
    code, out, _ = output(capsys, "generate", path, "-p", "a", "-p", "b")
    assert code == 0
    assert sorted(out.splitlines()) == ["[1] first", "[1] second", "[2] first", "[2] second"]


def test_json_holds_replies_and_figures(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("-p", "a", "-p", "b", "--json", "--max-tokens", 9, "--link", "2GB/s", "--cache", "50%")
    code, out, _ = output(capsys, "generate", model, *args)
    report = json.loads(out)
    assert code == 0
    assert [reply["tokens"] for reply in report["replies"]] == [9, 9]
    assert report["link_emulated"] is True
    assert report["summary"]["steps"] == 8
    assert report["cache_bytes"] == 24 << 20


def test_seeds_differ_by_prompt_and_repeat_by_run(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for seed in (1, 1, 2):
        args = ("-p", "a", "-p", "a", "--json", "--seed", seed, "--max-tokens", 20)
        _, out, _ = output(capsys, "generate", model, *args)
        texts.append([reply["text"] for reply in json.loads(out)["replies"]])
    assert texts[0] == texts[1]
    assert texts[0][1] == texts[2][0]  # seed 2 either way


def test_a_prompt_is_read_from_a_pipe(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("from a pipe"))
    code, out, _ = output(capsys, "generate", model, "--json", "--max-tokens", 3)
    assert code == 0
    assert json.loads(out)["replies"][0]["prompt"] == "from a pipe"


def test_an_empty_pipe_is_no_prompt(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    code, out, err = output(capsys, "generate", model)
    assert (code, out) == (1, "")
    assert "no prompt" in err


def test_a_reply_that_fails_makes_the_command_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = fake_native.write_model(tmp_path / "m.gguf", fails="layer 2: expert 7: read error")
    code, _, err = output(capsys, "generate", path, "-p", "a", "-p", "b")
    assert code == 1
    assert "2 of 2 replies failed: layer 2: expert 7: read error" in err


def test_notices_go_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = fake_native.write_model(tmp_path / "m.gguf", chat_template="{{ 1 / 0 }}", reply="x")
    code, out, err = output(capsys, "generate", path, "-p", "a")
    assert (code, out) == (0, "x\n")
    assert "note: The model's chat template was not used" in err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--cache", "4"), "'4' is not understood"),
        (("--link", "2GB"), "'2GB' is not understood"),
        (("--max-tokens", "0"), "not a whole number over 0"),
        (("--store", "cloud"), "invalid choice"),
        (("--chat", "--raw"), "not allowed with"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_is_accepted(
    model: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["generate", str(model), "-p", "x", *args])
    assert caught.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("generate", "missing.gguf", "-p", "x"), "missing.gguf: cannot be opened"),
        (("generate", "MODEL", "-p", "x", "--policy", "best"), "known are bevy"),
        (("generate", "MODEL", "-p", "x", "--temperature", "-1"), "temperature is -1.0"),
        (("generate", "MODEL", "-p", "x", "--max-tokens", "99999"), "exceed the context"),
        (("bench", "MODEL", "--policies", "bevy,best"), "known are bevy"),
        (("bench", "MODEL", "--json", "/no/such/folder/b.json"), "folder does not exist"),
        (("export-log",), "There is no run log"),
        (("export-log", "nonsense"), "There is no run log nonsense"),
        (("inspect", "missing.gguf"), "cannot be opened"),
    ],
)
def test_errors_are_one_sentence_and_exit_with_1(
    model: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    code, out, err = output(capsys, *(str(model) if arg == "MODEL" else arg for arg in args))
    assert (code, out) == (1, "")
    assert err.startswith("runahead: ") and err.count("\n") == 1
    assert words in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--policies", "bevy,,x"), "empty item"),
        (("--requests", "2,2"), "something twice"),
        (("--requests", "2,x"), "not a whole number"),
        (("--cache", "30%,x"), "is not understood"),
    ],
)
def test_wrong_lists_are_usage_errors(
    model: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench", str(model), *args])
    assert caught.value.code == 2
    assert words in capsys.readouterr().err


def test_debug_shows_where_an_error_came_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = output(capsys, "inspect", "missing.gguf", "--debug")
    assert code == 1
    assert "Traceback" in err and "runahead: missing.gguf" in err


def test_our_own_mistakes_are_called_so(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(fake_native, "inspect", broken)
    code, _, err = output(capsys, "inspect", model)
    assert code == 1
    assert "internal error (ZeroDivisionError: division by zero)" in err


def test_ctrl_c_while_replying_keeps_the_text_and_exits_with_130(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait, calls = fake_native.Engine.wait, []

    def interrupted(self: fake_native.Engine, timeout_s: float) -> bool:
        calls.append(1)
        if len(calls) == 15:
            raise KeyboardInterrupt
        return wait(self, timeout_s)

    monkeypatch.setattr(fake_native.Engine, "wait", interrupted)
    code, out, err = output(capsys, "generate", model, "-p", "x", "--max-tokens", 200)
    assert code == 130
    assert 5 < len(out.strip()) < 50
    assert err.endswith("runahead: stopped\n")


def test_ctrl_c_while_packing_leaves_nothing_and_exits_with_130(
    model: Path,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(self: native.Watched, stage: str, done: int, total: int) -> bool:
        self.raised = KeyboardInterrupt()
        return False

    monkeypatch.setattr(native.Watched, "__call__", interrupted)
    code, _, err = output(capsys, "pack", model)
    assert (code, err) == (130, "runahead: stopped\n")
    assert list((home / "packs").iterdir()) == []


def test_inspect_shows_the_model(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = output(capsys, "inspect", model, "--tensors", "--metadata")
    assert code == 0
    for words in ("Fake 1B", "fakemoe", "16 per layer, 2 used", "50.3 MB", "q4_0", "general.name"):
        assert words in out
    assert "blk.0.ffn_gate_exps.weight" in out


def test_inspect_json_is_complete(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = output(capsys, "inspect", model, "--json")
    found = json.loads(out)
    assert found["n_expert"] == 16 and found["supported"] is True


def test_inspect_says_why_a_model_does_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = fake_native.write_model(
        tmp_path / "m", supported=False, reason="no experts", name="[red]A\x1b[31m"
    )
    code, out, _ = output(capsys, "inspect", path)
    assert code == 0
    assert "no: no experts" in out
    assert "[red]A" in out
    assert "\x1b" not in out


def test_pack_builds_once_checks_and_rebuilds(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.pack"
    assert "48 experts" in output(capsys, "pack", model, "--out", path)[1]
    assert "there already" in output(capsys, "pack", model, "--out", path)[1]
    assert "whole" in output(capsys, "pack", model, "--out", path, "--verify")[1]
    assert "48 experts" in output(capsys, "pack", model, "--out", path, "--force")[1]
    path.write_text("damaged")
    code, _, err = output(capsys, "pack", model, "--out", path, "--verify")
    assert code == 1 and "header is damaged" in err
    code, _, err = output(capsys, "pack", model, "--out", path)
    assert code == 1 and "--force" in err
    assert path.read_text() == "damaged"


def test_bench_writes_its_report_and_shows_a_table(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b.json"
    code, out, _ = output(
        capsys,
        *("bench", model, "--policies", "bevy,lockstep-lfu", "--requests", "2,4"),
        *("--link", "full,2GB/s", "--steps", 8, "--rounds", 2, "--json", path),
    )
    assert code == 0
    report = json.loads(path.read_text())
    assert len(report["runs"]) == 16 and len(report["ratios"]) == 4
    assert "4 requests, cache 30%, link 2 GB/s (emulated)" in out
    assert f"{report['ratios'][0]['median']:.2f}x" in out
    assert "same tokens" in out


def test_export_log_lists_and_exports_the_newest(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        output(capsys, "generate", model, "-p", "x", "--max-tokens", 5)
    _, out, _ = output(capsys, "export-log", "--list")
    assert out.count("Fake 1B") == 2
    for name in ("a.jsonl", "a.csv", "a.json", "a.png"):
        code, out, _ = output(capsys, "export-log", "-o", tmp_path / name)
        assert code == 0 and name in out
        assert (tmp_path / name).stat().st_size > 100


def test_the_demo_compares_two_policies_and_says_where_it_wrote(
    model: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = output(capsys, "demo", "--model", model, "--max-tokens", 16)
    assert code == 0
    for words in ("bevy / lockstep-lfu: 1.", "emulated", "both busy", "hit rate", "run log:"):
        assert words in out
    (run,) = (home / "runs").iterdir()
    assert (run / "timeline.png").read_bytes().startswith(b"\x89PNG")
    assert str(run / "timeline.png") in out


def test_the_commands_share_their_names_of_stages() -> None:
    assert {"pack", "weights", "experts"} <= set(generate.STAGES)


def test_columns_show_all_replies_at_once_and_whole_at_the_end() -> None:
    replies = [Reply(RequestId(n), f"prompt {n}") for n in range(3)]
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, height=20)
    long = "\n".join(f"line {n}" for n in range(100))
    with ColumnsView(replies, console) as view:
        view.take(PrefillProgress(RequestId(0), 3, 7))
        for reply in replies:
            reply.text = long + "\x1b[31mred"
            view.take(Piece(reply.request, "x"))
        view._live.refresh()
        streamed = screen.getvalue()
        view.take(Finished(RequestId(0), "stop"))
    assert streamed.count("line 99") >= 3
    assert "line 5 " not in streamed
    rest = screen.getvalue()[len(streamed) :]
    assert rest.count("line 5\n") == 3
    assert "\x1b[31mred" not in screen.getvalue()


def test_a_model_cannot_steer_the_terminal() -> None:
    assert visible("a\x1b]0;title\x07b\x9b31mc\td\n") == "a\ufffd]0;title\ufffdb\ufffd31mc\td\n"


@pytest.mark.parametrize(("load", "told"), [(3.5, True), (2.0, False)])
def test_bench_warns_on_a_busy_machine(
    model: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    load: float,
    told: bool,
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    args = (
        "--steps",
        4,
        "--rounds",
        1,
        "--requests",
        2,
        "--policies",
        "bevy",
        "--prompt-tokens",
        4,
    )
    code, _, err = output(capsys, "bench", model, *args)
    assert code == 0
    assert ("busy (load 3.5 on 2 cores)" in err) == told


def test_notices_belong_to_no_reply() -> None:
    assert not hasattr(Notice("x"), "request")


def test_help_needs_no_native_module() -> None:
    code = "from engine.cli.main import main; main(['--help'])"
    block = "import sys; sys.modules['engine._native'] = None; sys.modules['matplotlib'] = None; "
    done = subprocess.run(
        [sys.executable, "-c", block + code], capture_output=True, text=True, timeout=60, check=True
    )
    for command in ("demo", "generate", "inspect", "pack", "bench", "export-log", "make-model"):
        assert command in done.stdout


def test_sigterm_ends_as_an_exception_that_cleans_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        main(["inspect", "missing.gguf"])
        handler = signal.getsignal(signal.SIGTERM)
        assert isinstance(handler, types.FunctionType)
        with pytest.raises(SystemExit) as caught:
            handler(signal.SIGTERM, None)
        assert caught.value.code == 143
    finally:
        signal.signal(signal.SIGTERM, before)
