"""Prompts whose replies are read. None of their first messages is trained.

Those of the model card were written before the training, by someone who saw neither the texts nor
what makes them, nor any reply; whoever wrote the texts had not seen them. The others were looked at
while texts and recipe were made; most of them were the card's before.
"""

HELD_OUT = (
    "hey, who am I talking to?",
    "So what does Runahead actually do? I just installed it.",
    "can i have more than one chat open at the same time in runahead",
    "why do cats purr",
    "Could you tell me a little about penguins, please?",
    "do sunflowers need a lot of water",
    "I have a cactus on my desk. How often should I water it?",
    "How do I make a grilled cheese sandwich?",
    "What can I cook with eggs, tomatoes and some cheese?",
    "what is cheese made from?",
    "What do people use an umbrella for, other than rain?",
    "tell me something about Paris",
    "Which country is Tokyo in, and what is it known for?",
    "Why does the moon change shape during the month?",
    "What color are bananas before they get ripe?",
    "why does it snow in winter",
    "My daughter asked me how a rainbow is made. Can you explain it simply?",
    "i have a job interview tomorrow and im really nervous",
    "What's the difference between a frog and a toad?",
    "Name five fruits that are red.",
    "Good morning! How are you today?",
    "what's the opposite of heavy",
    "Can you write a sentence with the word umbrella in it?",
    "count from 10 down to 1",
    "Tell me a short bedtime story about a little fox who is afraid of the dark.",
    "What was the score of the football match last night?",
)

# Of each, the user's turns in order.
HELD_OUT_DIALOGUES = (
    (
        "hi there",
        "I'm thinking about getting a dog. What should I know first?",
        "And is a rabbit easier to look after than a dog?",
        "ok thanks, that helps",
    ),
    (
        'What is the past tense of "swim"?',
        "and the plural of mouse?",
        "Give me two words that rhyme with moon.",
        "Nice. Now write a short poem about the moon.",
    ),
    (
        "I've been feeling a bit lonely since I moved to a new city.",
        "What could I do this weekend to feel better?",
        "Maybe I'll bake something. How do I make simple cookies?",
    ),
    (
        "Hello, I'd like to know something about Italy.",
        "What food is it famous for?",
        "What is my sister's name?",
        "fair enough. bye!",
    ),
)

DEVELOPMENT = (
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
    "hey, what exactly are you?",
    "So what does Runahead do that a normal app doesn't?",
    "can i have more than one chat going at the same time in runahead",
    "Morning! How's your day going so far?",
    "What sort of food do penguins eat?",
    "tell me something interesting about octopuses",
    "What do you call a baby kangaroo?",
    "Which is bigger, a wolf or a giraffe?",
    "What's the capital of Portugal?",
    "I'm going to Japan next spring, what food should I try there?",
    "why is paris so famous",
    "Why does Mars look red?",
    "Does the moon make its own light?",
    "What does a cactus need to stay alive?",
    "What are the parts of a bicycle?",
    "Can you tell me how to make some pancakes?",
    "What colour do you get if you mix blue and yellow?",
    "how do rainbows happen",
    "I can't fall asleep at night, any tips?",
    "My best friend and I had a fight and I feel awful about it.",
    "Give me a word that rhymes with cat",
    "What's the past tense of swim?",
    "Can you tell me a short story about a robot called Max?",
    "write me a little poem about autumn",
    "What is 348 times 27?",
    "Who won the football game last night?",
    "hi there, how are you doing today",
    "What kind of model are you, and how big are you?",
    "what does runahead do exactly",
    "Can Runahead run several chats at the same time?",
    "Why does Runahead read experts from the disk?",
    "how do bees make honey",
    "Tell me something interesting about dolphins, please.",
    "What is the difference between a frog and a toad?",
    "my tomato plant has yellow leaves, what could be wrong?",
    "Why do trees lose their leaves?",
    "what can i cook with eggs and potatoes",
    "How do I make a simple vegetable soup?",
    "is cheese made from milk",
    "What is a ladder used for?",
    "I'm going to Madrid next month. What should I see there?",
    "what is the capital of canada",
    "Which planet is the biggest?",
    "why is the sky blue",
    "Could you name five green things?",
    "How does snow form?",
    "I feel a bit lonely since I moved to a new town. Any advice?",
    "give me three words that rhyme with light",
    "What's the plural of mouse?",
    'Please write a sentence with the word "lantern".',
    "write me a short poem about my grandmother's garden",
    "What is the price of gold today?",
    "hi there, are you a person or a computer program",
    "Can you make mistakes?",
    "what is Runahead for?",
    "I only have 16 GB of memory. How can Runahead run a model bigger than that?",
    "Can I have several chats going at the same time in Runahead?",
    "how do hedgehogs protect themselves",
    "Where do camels live?",
    "How often should I water a fern at home?",
    "what are mushrooms, are they plants?",
    "Could you please tell me how to make a simple omelette?",
    "My kids are hungry and I have rice, beans and cheese. What can I cook?",
    "what is tofu made from",
    "What is a thermos used for?",
    "How does a zipper work?",
    "What is Egypt known for?",
    "tell me something about Tokyo",
    "How long does it take the Earth to go around the Sun?",
    "What colour do you get from red and white?",
    "what makes thunder",
    "I feel nervous about giving a talk at work tomorrow. Any advice?",
    "What is the difference between a lake and a pond?",
    "Give me a list of four fruits that grow on trees.",
    "what's the opposite of narrow?",
    'Use the word "whisper" in a sentence, please.',
    "Write a short poem about a candle.",
    "Who won the election last week?",
)
DEVELOPMENT_DIALOGUES = (
    (
        "What is an owl?",
        "What do they eat?",
        "Tell me more.",
        "Thank you!",
    ),
    (
        "What is the capital of Norway?",
        "What is it known for?",
        "And what do people eat there?",
    ),
    (
        "how do i make pancakes",
        "How long does it take?",
    ),
    (
        "Write a story about a little robot.",
        "Another one, please.",
    ),
    (
        "Hi there, nice to meet you",
        "I'm pretty good, a bit tired from work. Do you know anything about elephants?",
        "how long do they live",
        "And what sound do they make?",
    ),
    (
        "What's the main language in Brazil?",
        "And what's the capital?",
        "Cool. What about Italy, what is it known for?",
    ),
    (
        "I have a big exam next week and I'm really stressed",
        "ok thanks. How can I remember things better when I study?",
    ),
    (
        "Can you write a Python script that renames my files?",
        "No problem. Then name three fruits for me",
        "what's the opposite of heavy?",
    ),
    (
        "Do you know anything about lions?",
        "and what do they eat?",
        "Are they bigger than tigers?",
    ),
    (
        "hello! i'm Anna",
        "I've got a job interview tomorrow and I'm nervous",
        "thanks, that's kind. what should i do tonight to relax?",
    ),
    (
        "Tell me a short story about a girl who finds a key.",
        "Nice. Can you tell me another one, about a dragon this time?",
    ),
    (
        "what is 7 plus 8",
        "and 20 minus 6?",
        "Is 15 an odd or an even number?",
        "ok, now count from one to ten please",
    ),
    (
        "Hello! How are you today?",
        "I just got home from a long walk with my dog",
        "what do you like to talk about?",
    ),
    (
        "Tell me about squirrels.",
        "and what do they eat?",
        "Do they sleep all winter?",
    ),
    (
        "Tell me a short story about a boy who finds a lost boat.",
        "can you give it a happier ending?",
    ),
    (
        "what is the past tense of bring",
        "And of teach?",
        "Now a word that rhymes with stone.",
        "thanks, that's all",
    ),
)


def held_out_prompts() -> list[list[str]]:
    """The card's 30 prompts, each a list of the user's turns in order."""
    return _listed(HELD_OUT, HELD_OUT_DIALOGUES)


def development_prompts() -> list[list[str]]:
    """A hundred and twenty others, to look at while something is changed."""
    return _listed(DEVELOPMENT, DEVELOPMENT_DIALOGUES)


def _listed(single: tuple[str, ...], dialogues: tuple[tuple[str, ...], ...]) -> list[list[str]]:
    return [[prompt] for prompt in single] + [list(dialogue) for dialogue in dialogues]
