"""How users type: lower case, no question mark, "pls", a greeting before, a typo now and then."""

import re
from random import Random

OPENINGS = (
    *("Hi, ", "Hello! ", "Hey, ", "Please: ", "Quick question: ", "A question: ", "So, ", "OK, "),
    *("Hi! ", "Hey! ", "Hello, ", "I have a question. ", "Excuse me, ", "Tell me, ", "Well, "),
    *("Good morning! ", "A simple question: ", "Sorry, ", "Let me ask: ", "One thing: ", "Hm, "),
)
CLOSINGS = (" Please.", " Thanks!", " Thank you.", " I am curious.", " I would like to know.")
NEXT = ("And ", "OK, ", "Thanks! ", "Nice! ", "Great, ", "I see. ", "Cool! ", "Now ", "Oh! ")

# What people write shorter, with or without the apostrophe.
SHORTER = (
    *((r"\bI am (?=\w)", "I'm "), (r"\b([Dd])o not\b", r"\1on't"), (r"\bcannot\b", "can't")),
    *((r"\b([Dd])oes not\b", r"\1oesn't"), (r"\b([Dd])id not\b", r"\1idn't")),
    *((r"\b(What|Who|Where|How) is\b", r"\1's"), (r"^(It|That) is\b", r"\1's")),
    *((r"\bI will\b", "I'll"), (r"\bis not\b", "isn't"), (r"\bI have (?=been|got)", "I've ")),
    *((r"\b([Yy])ou are\b", r"\1ou're"), (r"\b([Ww])e are\b", r"\1e're")),
)


def _shorter(text: str, rng: Random) -> str:
    for words, short in SHORTER:
        text = re.sub(words, short, text)
    return text.replace("'", "") if rng.random() < 0.35 else text


def _keeps_case(word: str) -> bool:
    return word == "I" or word.startswith("I'")


def _lower_first(text: str) -> str:
    word = text.split(" ", 1)[0]
    if _keeps_case(word) or (word.isupper() and word != "A"):
        return text
    return text[0].lower() + text[1:]


def _with_typo(text: str, rng: Random) -> str:
    words = text.split(" ")
    # Names are spelled as they are, for answers repeat them.
    long = [i for i, w in enumerate(words) if len(w) > 4 and w.isalpha() and w.islower()]
    if not long:
        return text
    i = rng.choice(long)
    at = rng.randrange(1, len(words[i]) - 2)
    word = words[i]
    if rng.random() < 0.5:
        words[i] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    else:
        words[i] = word[:at] + word[at + 1 :]
    return " ".join(words)


def typed(text: str, rng: Random, follows: bool = False) -> str:
    """`text` as someone may type it; `follows` if it is not the first message."""
    proper = re.match(r"[A-Z][a-z]+", text) and not re.match(
        r"(What|Where|Which|Who|How|When|Why|Do|Does|Is|Are|Can|Could|Tell|Give|Name|I|Please|"
        r"Write|Describe|Say|Show|List|Make|Would|Will|Should|Count|Use|Explain|Have|Did|Any|"
        r"Remind|Compare|Invent|My|For|Was|Were|Am|Tell|Help)\b",
        text,
    )
    roll = rng.random()
    if not proper:
        if follows and roll < 0.12:
            text = rng.choice(NEXT) + text
            text = text if text[: text.index(" ") + 1].strip()[-1] in ".!" else _joined(text)
        elif not follows and roll < 0.07:
            opening = rng.choice(OPENINGS)
            text = opening + (text if opening[-2] in ".!" else _lower_first(text))
        elif roll > 0.975 and text.endswith("?"):
            text += rng.choice(CLOSINGS)
    if rng.random() < 0.03:
        text = _with_typo(text, rng)
    if rng.random() < 0.3:
        text = _shorter(text, rng)
    style = rng.random()
    if style < 0.16:
        text = text.lower()
    if 0.08 < style < 0.24:
        text = text.rstrip("?.!") or text
    if rng.random() < 0.025 and text[-1].isalnum():
        text += rng.choice((" pls", " please", " plz"))
    return text


def _joined(text: str) -> str:
    first, _, rest = text.partition(" ")
    return f"{first} {_lower_first(rest)}"
