"""Wrong usage: what is wrong is what is named."""

import pytest

from engine.cli.main import main


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--bogus",), "unrecognized arguments: --bogus"),
        (("--bogus", "inspect", "m.gguf"), "unrecognized arguments: --bogus"),
        (("inspect", "m.gguf", "--bogus"), "unrecognized arguments: --bogus"),
        (("--debug",), "required: COMMAND"),
        ((), "required: COMMAND"),
    ],
)
def test_what_is_wrong_with_the_command_itself_is_what_is_named(
    capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == 2
    assert words in capsys.readouterr().err
