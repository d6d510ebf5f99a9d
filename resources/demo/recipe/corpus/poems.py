"""Little poems of four lines: two couplets about one thing, which rhyme."""

from random import Random

from recipe.corpus.forms import Section, section_of, sections
from recipe.corpus.grammar import expand
from recipe.corpus.stories import cast
from recipe.corpus.turn import Exchange, Thread

ASKED = (
    "Write a poem about {subject}.",
    "Write a [short|little|nice|] poem about {subject}.",
    "Write me a [short|little|nice|] poem about {subject}.",
    "Write me a rhyme about {subject}.",
    "Please write a [short|] poem about {subject}.",
    "Can you write [me|] a [short|] poem about {subject}?",
    "Can you make a rhyme about {subject}?",
    "Tell me a poem about {subject}.",
    "A poem about {subject}, please.",
    "A [short|little] poem about {subject}, please.",
    "Give me a [little|short] poem about {subject}.",
    "I would like a poem about {subject}.",
    "Do you know a poem about {subject}?",
    "Make a [rhyme|poem] about {subject}.",
    "Could you write a little poem about {subject}?",
    "Could you please write a poem about {subject}?",
    "I was wondering whether you know a poem about {subject}.",
    "My [daughter|son|friend|kid] wants a poem about {subject}.",
    "A few lines about {subject} that rhyme, please.",
    "Four lines about {subject}, please.",
    "Write four lines about {subject}.",
    "four lines about {subject}",
    "Write four lines that rhyme about {subject}.",
    "Write a four-line poem about {subject}.",
    "Have you got a poem about {subject}?",
    "I need a [short|] poem about {subject} for [a card|school|my friend|tonight].",
    "How about a poem about {subject}?",
    "poem about {subject}",
    "short poem, {subject}",
    "rhyme about {subject} please",
    "Please make me a poem about {subject}.",
    "Make up a [little|short|] poem about {subject}.",
    "Say something in rhyme about {subject}.",
    "Write a verse about {subject}.",
    "Can you rhyme something about {subject}?",
    "Write a short poem about the item.\n\n{subject}",
    "Write a two-line poem about the item.\n\n{subject}",
    "Write two lines about {subject} that rhyme.",
)
ASKED_ANY = (
    "Write a poem.",
    "Tell me a poem.",
    "Can you write a poem?",
    "Do you know a poem?",
    "Write a [little|short] poem for me.",
    "I would like to hear a poem.",
    "A poem, please.",
    "Give me a rhyme.",
    "Write me a poem, any poem.",
    "Could you write something that rhymes?",
    "poem please",
    "Write four lines that rhyme.",
)
# Poems of a kind that is not known.
ASKED_KIND = (
    "Write a {kind} about {subject}.",
    "Write me a {kind} about {subject}.",
    "Can you write a {kind} about {subject}?",
    "A {kind} about {subject}, please.",
    "{kind} about {subject}",
    "I need a {kind} about {subject}.",
    "Make up a {kind} about {subject}.",
    "Please write a {kind} about {subject}.",
    "Do you know a {kind} about {subject}?",
)
KINDS = ("haiku", "haiku", "haiku", "limerick", "limerick", "song", "sonnet", "long poem", "rap")
NO_KIND = ("I only know poems of four lines. Here is one about {subject}:",)
NEXT_ONE = (
    "Make it about {subject}.",
    "Now about {subject}.",
    "And about {subject}?",
    "What about {subject}?",
    "Now write one about {subject}, please.",
    "[Nice|Great|Thanks|Lovely]. Now one about {subject}.",
    "Another one, but about {subject}.",
    "Now one about {subject}.",
    "And one about {subject}?",
    "Another one about {subject}.",
    "Can you write one about {subject}, too?",
    "Do you have one about {subject}?",
    "And a poem about {subject}?",
    "Nice. One about {subject}, please.",
)
AFTER_WORDS = (
    "Now write a [short|little|] poem about {subject}.",
    "[Nice|Great|Thanks|Cool|OK]. Now write a [short|little|] poem about {subject}.",
    "Now write me a poem about {subject}, please.",
    "[Nice|Great]. Can you write a [short|] poem about {subject}?",
    "And now a [short|] poem about {subject}.",
    "Write a [short|] poem about {subject} now.",
    "Can you make a poem about {subject}?",
)
NEXT_ANY = (
    "Another one, please.",
    "Another poem, please.",
    "One more, please.",
    "Tell me another.",
    "A different one, please.",
    "Another",
    "another one",
    "One more",
    "[Nice|Lovely|Great]! Another one, please.",
    "Do you know another poem?",
    "Write another poem.",
    "I want a different poem.",
)
# Those that are told when none is asked for by its subject, each after the one before it.
ANY = ("the moon", "the sea", "cats", "a candle", "rain", "trees", "a garden", "friends")
# What is said after a poem and the reply to it.
AFTER = (
    (
        ("I liked that.", "That was nice, thanks.", "Lovely!", "Beautiful poem!", "I like it."),
        "I am glad that you liked the poem.",
    ),
    (
        ("Did you write that?", "Who wrote that?", "Is that your own poem?", "Who is the poet?"),
        "It is one of the little poems that I was trained with.",
    ),
    (
        ("Can you make it longer?", "Make it longer.", "More lines, please.", "Go on."),
        "My poems have four lines at most. I can tell you another one.",
    ),
    (
        ("Make it shorter.", "Can you make it shorter?", "Shorter, please.", "make it shorter"),
        "My poems are short already. I can tell you another one.",
    ),
    (
        ("Make it funny.", "Can you make it funnier?", "Make it happier.", "Make it better."),
        "I cannot change my poems, sorry. I can tell you another one.",
    ),
    (
        ("I do not like it.", "That was not so good.", "That is a silly poem."),
        "I am sorry that you did not like it. Tell me what the next poem shall be about.",
    ),
)
NO_POEM = (
    "I have no poem about that, but here is one about {subject}:",
    "Sorry, I know no poem about that, but here is one about {subject}:",
)


class PoemTopic:
    """Poems of data/poems.forms: a section per subject, a line per couplet, parted by `/`.

    Whatever was asked for, the line before the poem says what the poem is about.
    """

    name = "poems"

    def thread(self, rng: Random) -> Thread:
        """A poem, at times another, which may be about what there is no poem about."""
        found: Thread = []
        told: list[str] = []
        if (roll := rng.random()) < 0.2:
            found.append(self._kind(rng) if roll < 0.07 else self._occasion(rng))
            told.append(found[0].key.split("/")[2])
        for section in rng.sample(sections("poems.forms"), 3):
            if found and rng.random() < 0.4:
                break
            if found and rng.random() < 0.25:
                found.append(self.other(rng, follows=True))
            elif rng.random() < (0.5 if found else 0.12):
                place = ANY.index(told[-1]) + 1 if told and told[-1] in ANY else len(found)
                while ANY[place % len(ANY)] in told:
                    place += 1
                section = section_of("poems.forms", ANY[place % len(ANY)])
                forms = NEXT_ANY if found else ASKED_ANY
                found.append(_made(forms, "-", _lead(bool(found)), section, rng))
            elif section.name not in told:
                found.append(self._known(section, rng, bool(found)))
            told.append(section.name)
            if rng.random() > 0.5:
                break
        if rng.random() < 0.15:
            wording, reply = rng.choice(AFTER)
            said = rng.choice(wording)
            found.append(Exchange(f"poems/after/{said}", said, reply))
        return found

    def other(self, rng: Random, follows: bool = False) -> Exchange:
        """A poem about something near what was asked for, or just another."""
        near = [section for section in sections("poems.forms") if section.others]
        section = rng.choice(near)
        subject = rng.choice(section.others)
        if rng.random() < 0.5:
            subject = rng.choice(cast("no poems"))
            section = section_of("poems.forms", rng.choice(ANY))
        return _made(NEXT_ONE if follows else ASKED, subject, NO_POEM, section, rng)

    def about(self, name: str, rng: Random) -> Exchange:
        """The poem of the section `name`, after words that rhyme."""
        section = section_of("poems.forms", name)
        return _made(AFTER_WORDS, name, _lead(False), section, rng)

    @staticmethod
    def _kind(rng: Random) -> Exchange:
        """A poem of a kind that is not known: one of four lines is told."""
        section = rng.choice(sections("poems.forms"))
        subject = rng.choice((section.name, *section.questions))
        forms = [form.replace("{kind}", rng.choice(KINDS)) for form in ASKED_KIND]
        made = _made(tuple(forms), subject, NO_KIND, section, rng)
        return made._replace(key=f"poems/kind/{section.name}/{made.key.rsplit('/', 1)[1]}")

    @staticmethod
    def _occasion(rng: Random) -> Exchange:
        """A poem that is asked for by what it is for."""
        asked = rng.choice(sections("occasions.forms")[: rng.choice((3, 20))])
        made = _made(
            tuple(asked.questions),
            "-",
            _lead(False),
            section_of("poems.forms", asked.name),
            rng,
        )
        return made._replace(key=f"poems/for/{asked.name}/{made.key.rsplit('/', 1)[1]}")

    @staticmethod
    def _known(section: Section, rng: Random, follows: bool) -> Exchange:
        subject = rng.choice((section.name, *section.questions))
        return _made(NEXT_ONE if follows else ASKED, subject, _lead(follows), section, rng)


def _lead(follows: bool) -> tuple[str, ...]:
    return ("Here is one about {subject}:" if follows else "Here is a poem about {subject}:",)


def _made(
    forms: tuple[str, ...], subject: str, lines: tuple[str, ...], section: Section, rng: Random
) -> Exchange:
    form = rng.choice(forms)
    question = expand(form, rng, {"subject": subject})
    # A subject has one poem, of which two lines are told when no more are asked for.
    two = "two-line" in question or "two lines" in question
    couplets = section.answers[: 1 if two else 2]
    poem = [expand(rng.choice(lines), rng, {"subject": section.name})]
    poem += [line for couplet in couplets for line in expand(couplet, rng).split(" / ")]
    key = f"poems/{subject}/{section.name}{forms is NEXT_ANY}{forms.index(form)}"
    return Exchange(key, question, "\n".join(line[0].upper() + line[1:] for line in poem))
