"""What can go wrong while a bench model is made."""


class BenchModelError(Exception):
    """args: (code, message); the codes are those of NativeError.

    invalid (a wrong name or size), exists (the file is there already), bad_file (the vocabulary's
    GGUF), no_space, io, or cancelled.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message
