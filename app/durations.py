"""Times that things took, for people."""


def duration(seconds: float) -> str:
    """For example "0.4 s", "12 s", "3 min 5 s", "2 h 10 min"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
