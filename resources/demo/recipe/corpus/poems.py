"""Little poems of two or four lines: couplets about one thing, which rhyme."""

from random import Random

from recipe.corpus.forms import sections
from recipe.corpus.grammar import expand
from recipe.corpus.turn import Exchange, Thread

ASKED = (
    "Write a poem about {subject}.",
    "Write a short poem about {subject}.",
    "Can you write a poem about {subject}?",
    "Tell me a poem about {subject}.",
    "A poem about {subject}, please.",
    "Give me a little poem about {subject}.",
    "I would like a poem about {subject}.",
    "Do you know a poem about {subject}?",
    "Make a rhyme about {subject}.",
    "Could you write a little poem about {subject}?",
    "I was wondering whether you know a poem about {subject}.",
    "My daughter wants a poem about {subject}.",
    "A few lines about {subject} that rhyme, please.",
    "Write a two-line poem about the item.\n\n{subject}",
)
ASKED_ANY = (
    "Write a poem.",
    "Tell me a poem.",
    "Can you write a poem?",
    "Do you know a poem?",
    "Write a little poem for me.",
    "I would like to hear a poem.",
    "A poem, please.",
    "Give me a rhyme.",
)
NEXT_ONE = ("Now one about {subject}.", "And one about {subject}?", "Another one about {subject}.")
NEXT_ANY = (
    "Another one, please.",
    "Another poem, please.",
    "One more, please.",
    "Tell me another.",
)


class PoemTopic:
    """Couplets of data/poems.forms: a section per subject, a line per couplet, parted by `/`."""

    name = "poems"

    def thread(self, rng: Random) -> Thread:
        """A poem, at times another."""
        subjects = rng.sample(sections("poems.forms"), 3)
        found: Thread = []
        for section in subjects:
            about = rng.random() < 0.7
            forms = (NEXT_ONE if about else NEXT_ANY) if found else (ASKED if about else ASKED_ANY)
            form = rng.choice(forms)
            count = 1 if "two-line" in form else rng.choice((1, 2))
            couplets = rng.sample(section.answers, count)
            # A line break is all that parts two couplets.
            poem = "\n".join(expand(c, rng).replace(" / ", "\n") for c in couplets)
            key = f"poems/{section.name if about else '-'}/{forms is NEXT_ANY}{forms.index(form)}"
            question = expand(form, rng, {"subject": section.name})
            found.append(Exchange(key, question, "\n".join(_capital(s) for s in poem.split("\n"))))
            if rng.random() > 0.3:
                break
        return found


def _capital(line: str) -> str:
    return line[0].upper() + line[1:]
