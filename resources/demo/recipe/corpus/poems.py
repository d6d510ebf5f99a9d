"""Little poems of two or four lines: couplets about one thing, which rhyme."""

from random import Random

from recipe.corpus.forms import Section, names, sections
from recipe.corpus.grammar import expand
from recipe.corpus.turn import Exchange, Thread

ASKED = (
    "Write a poem about {subject}.",
    "Write a short poem about {subject}.",
    "Write me a [short|little|nice|] poem about {subject}.",
    "Please write a [short|] poem about {subject}.",
    "Can you write [me|] a poem about {subject}?",
    "Tell me a poem about {subject}.",
    "A poem about {subject}, please.",
    "Give me a little poem about {subject}.",
    "I would like a poem about {subject}.",
    "Do you know a poem about {subject}?",
    "Make a [rhyme|poem] about {subject}.",
    "Could you write a little poem about {subject}?",
    "I was wondering whether you know a poem about {subject}.",
    "My [daughter|son|friend] wants a poem about {subject}.",
    "A few lines about {subject} that rhyme, please.",
    "Have you got a poem about {subject}?",
    "I need a [short|] poem about {subject} for [a card|school|my friend|tonight].",
    "How about a poem about {subject}?",
    "poem about {subject}",
    "Please make me a poem about {subject}.",
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
    "Write me a poem, any poem.",
    "Could you write something that rhymes?",
)
NEXT_ONE = (
    "Now one about {subject}.",
    "And one about {subject}?",
    "Another one about {subject}.",
    "Can you write one about {subject}, too?",
)
NEXT_ANY = (
    "Another one, please.",
    "Another poem, please.",
    "One more, please.",
    "Tell me another.",
)
NO_POEM = (
    "I have no poem about that, but here is one about {subject}:",
    "Sorry, I know no poem about that, but here is one about {subject}:",
)


class PoemTopic:
    """Couplets of data/poems.forms: a section per subject, a line per couplet, parted by `/`.

    Whatever was asked for, the line before the poem says what the poem is about.
    """

    name = "poems"

    def thread(self, rng: Random) -> Thread:
        """A poem, at times another, which may be about what there is no poem about."""
        found: Thread = []
        for section in rng.sample(sections("poems.forms"), 3):
            if found and rng.random() < 0.25:
                found.append(self.other(rng, follows=True))
            else:
                found.append(self._known(section, rng, bool(found)))
            if rng.random() > 0.3:
                break
        return found

    def other(self, rng: Random, follows: bool = False) -> Exchange:
        """A poem about something near what was asked for."""
        section = rng.choice(sections("poems.forms"))
        subject = rng.choice(section.others)
        if rng.random() < 0.25:
            subject = f"{rng.choice(('the', 'my'))} {rng.choice(names('nouns'))}"
            if any(subject in other.questions for other in sections("poems.forms")):
                subject = "my old clock"
        return _made(NEXT_ONE if follows else ASKED, subject, NO_POEM, section, rng)

    @staticmethod
    def _known(section: Section, rng: Random, follows: bool) -> Exchange:
        forms: tuple[str, ...] = NEXT_ONE if follows else ASKED
        subject = rng.choice((section.name, *section.questions))
        if rng.random() < 0.25:
            forms, subject = (NEXT_ANY if follows else ASKED_ANY), "-"
        line = "Here is one about {subject}:" if follows else "Here is a poem about {subject}:"
        return _made(forms, subject, (line,), section, rng)


def _made(
    forms: tuple[str, ...], subject: str, lines: tuple[str, ...], section: Section, rng: Random
) -> Exchange:
    form = rng.choice(forms)
    question = expand(form, rng, {"subject": subject})
    # Couplets follow each other as they are written.
    first = rng.randrange(len(section.answers))
    count = 1 if any(word in question for word in ("two-line", "short", "little")) else 2
    couplets = [section.answers[(first + i) % len(section.answers)] for i in range(count)]
    poem = [expand(rng.choice(lines), rng, {"subject": section.name})]
    poem += [line for couplet in couplets for line in expand(couplet, rng).split(" / ")]
    key = f"poems/{subject}/{section.name}{forms is NEXT_ANY}{forms.index(form)}"
    return Exchange(key, question, "\n".join(line[0].upper() + line[1:] for line in poem))
