"""The link speeds that are offered, and what they are called."""

from app.language import tr
from engine.link_speed import LinkSpeed

SPEEDS = tuple(
    LinkSpeed.parse(text)
    for text in ("full", "4GB/s", "2GB/s", "1GB/s", "500MB/s", "250MB/s", "100MB/s", "50MB/s")
)


def speed_label(speed: LinkSpeed) -> str:
    """For a choice; what is emulated says so."""
    return tr("{speed}, emulated", speed=speed) if speed.emulated else tr("Full speed")


def offered(chosen: LinkSpeed) -> list[tuple[str, str]]:
    """Each speed as text and its label; `chosen` is among them."""
    speeds = SPEEDS if chosen in SPEEDS else (*SPEEDS, chosen)
    return [(str(speed), speed_label(speed)) for speed in speeds]
