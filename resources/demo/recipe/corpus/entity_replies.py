"""What topics of facts ask and say besides their facts."""

WHY = ("Why?", "Why is that?", "And why?", "Why is that so?", "But why?", "Do you know why?")
BECAUSE = (
    "{fact} because {reason}.",
    "[I can tell you|I know this one]: {fact} because {reason}.",
)
# Without what was asked: a small model would fill in something else.
DECLINED = (
    "I do not know that, sorry. I am only a tiny model.",
    "I do not know that, sorry.",
    "Sorry, I do not know that. I know only simple facts.",
)
# How a message begins that asks for something to be done, which "Gladly!" may answer.
REQUESTS = (
    *("Tell", "Please", "Can", "Could", "Write", "Give", "Describe", "Say", "Talk", "Explain"),
    *("Do you know", "I want", "I'd like", "I was wondering", "For school"),
)
NOTHING_MORE = (
    "That is all that I know about that.",
    "I have told you all that I know about that.",
)
INSTEAD = (
    "But I can tell you {known}.",
    "But I know {known}.",
    "Ask me {known} instead.",
    "You can ask me {known}.",
)
