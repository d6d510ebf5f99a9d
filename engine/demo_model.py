"""The demo model that ships with Runahead: tiny, of our own making, there without a download.

Its card, resources/demo/README.md, says what it is and how it was made.
"""

from pathlib import Path

from engine import errors
from engine.cache_size import CacheSize
from engine.link_speed import LinkSpeed

# It is so small that any disk reads its experts at once. At this pace the link is what
# limits it, as with a large model, and its text can be watched. Figures say that it is emulated.
DEMO_LINK = LinkSpeed.parse("50MB/s")
DEMO_CACHE = CacheSize(fraction=0.3)
DEMO_THREADS = 1  # on so small a model a second one would only wait

# Four chats about what it knows, each as the user's turns in order.
DEMO_CHATS = (
    ("What are you?", "What can we talk about?", "What is Runahead?"),
    ("Tell me a short story about a fox.", "Another one, please.", "Thank you!"),
    ("Tell me about owls.", "What do they eat?", "Where do they live?"),
    ("How do I make pancakes?", "How long does it take?", "How can I sleep better?"),
)


# Where it lies beside the package once that is installed, and in a checkout.
_PLACES = (
    Path(__file__).parent / "demo" / "demo.gguf",
    Path(__file__).parents[1] / "resources" / "demo" / "demo.gguf",
)


def demo_model() -> Path:
    """The demo model's file. Raises StorageError when this installation has none."""
    for path in _PLACES:
        if path.is_file():
            return path
    raise errors.StorageError(
        "The demo model is missing from this installation.", "Install Runahead again."
    )


def is_demo_model(path: Path) -> bool:
    """Whether this file is the demo model, by whatever path it is reached."""
    if all(path.name != place.name for place in _PLACES):
        return False  # the disk of another model need not be asked
    return path.resolve() in [place.resolve() for place in _PLACES]
