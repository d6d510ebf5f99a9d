"""The prompts that are printed in the model card with their replies. None is trained."""

SINGLE = (
    "Hello, little demo model! How are you today?",
    "Who are you, and what were you made for?",
    "Are you as clever as a big model?",
    "What can I talk about with you?",
    "What is Runahead, and what does it do?",
    "Why do several chats run at once?",
    "What do otters eat?",
    "where do penguins live",
    "Tell me about elephants.",
    "Which is bigger, a horse or a rabbit?",
    "Describe this animal in one sentence.\n\nFlamingo",
    "Tell me something about Japan.",
    "What can I see in Venice?",
    "What does Saturn look like?",
    "How do I care for a cactus?",
    "What is an umbrella good for?",
    "Can you tell me how a rainbow is made?",
    "I feel a bit sad today.",
    "I have an exam next week. Do you have a tip?",
    "Tell me a short story about a fox.",
    "Write a short poem about the sea.",
    "What is the opposite of cheap?",
    "Use the word river in a sentence.",
    "What is 48 times 12?",
    "Can you explain quantum computers?",
    "Write a program that sorts a list of names.",
)
DIALOGUES = (
    ("What is an owl?", "What do they eat?", "Tell me more.", "Thank you!"),
    ("What is the capital of Norway?", "What is it known for?", "And what do people eat there?"),
    ("how do i make pancakes", "How long does it take?"),
    ("Write a story about a little robot.", "Another one, please."),
)


def held_out_prompts() -> list[list[str]]:
    """30 prompts, each a list of the user's turns in order."""
    return [[prompt] for prompt in SINGLE] + [list(dialogue) for dialogue in DIALOGUES]
