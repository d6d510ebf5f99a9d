"""The workload `short`: a few sentences, half like chats and half like steps of agents."""

from engine.workloads.lengths import Prompt, Tokenize

TEXTS = (
    "Explain to a new colleague why our nightly backup takes twice as long since Monday. The "
    "server was moved to another rack, the network card was replaced, and nobody changed the "
    "schedule. Which three things would you look at first, and what would each of them tell "
    "you?",
    "You are an agent with the tools search(query), open(url) and note(text). Goal: find the "
    "year in which the first tidal power station went into service, from two sources that "
    "agree. So far you have searched once and opened nothing. Write down your plan, then the "
    "next tool call.",
    "My sourdough bread comes out flat although the starter doubles in four hours. I use strong "
    "flour, seventy percent water, and let the dough rest overnight in a warm kitchen. What is "
    "going wrong, and what should I change first? Please answer in a short list.",
    "Task: review this change. The function read_all() now opens every file before it reads the "
    "first one. The tests pass. The service handles up to ten thousand files at a time. State "
    "the risk in one sentence, propose a fix, and name a test that would have caught it.",
    "Write a friendly letter to the neighbours about the street party on the last Saturday of "
    "June. There will be a long table, a band from four o'clock, and a game of chess with very "
    "large pieces. Ask them to bring a salad or a cake and to park their cars elsewhere.",
    "You are the planner of a small team of agents. The user wants a comparison of three heat "
    "pumps by noise, price and service. Split the work into subtasks that can run at the same "
    "time, say what each one returns, and how you will merge the answers into one table.",
    "What is the difference between weather and climate? My daughter, who is nine, asked why it "
    "can snow in April when the planet is getting warmer. Give me an answer that I can read to "
    "her, with one picture from daily life that she will remember.",
    "Observation: the command returned exit code 2 and the line 'missing operand after target'. "
    "You were about to copy the configuration to the new host. Thought: think about what went "
    "wrong, whether anything was changed, and which command to run next. Answer with a thought "
    "and an action.",
    "Tell me about the lighthouse keepers of the north. How did they spend the winter, what did "
    "they write in their logs, and how did the work change when the lamps became electric? I "
    "would like a story of a single day rather than a list of facts.",
    "Subtask 3 of 5: from the table of orders, find the customers who bought in spring but not "
    "in summer. The columns are customer, day, amount and city. Write the query, explain each "
    "clause in a few words, and say which index would help most.",
    "I have to give a short speech at my brother's wedding. He is a carpenter, he once built a "
    "boat that sank at once, and he met his wife at the rescue. Help me to an opening, one "
    "story in the middle and a toast at the end that is warm and not too long.",
    "You are a careful assistant that controls a greenhouse. Temperature 31 degrees, humidity "
    "40 percent, wind 7 metres per second, forecast rain at five. Vents are half open and the "
    "shade is in. Decide what to do in the next hour, and give the reason for each step.",
    "Translate the idea of compound interest into the world of a fisherman. No numbers over one "
    "hundred, no formulas, and the fish should behave like fish. At the end, say in plain words "
    "what a bank does differently from the sea.",
    "Critique: another agent proposes to answer the question about train delays with the "
    "average of all lines. List what that hides, ask for the one number that is missing, and "
    "rewrite the answer so that a traveller on the night train is not misled.",
    "How do I learn to read music at fifty? I can whistle what I hear, I own a piano that needs "
    "tuning, and I have twenty minutes a day. Make a plan for six weeks in which every week "
    "ends with a piece that I can really play.",
    "Plan and act: the test suite fails only on Fridays. Logs show that a report is written at "
    "noon into the folder that the tests use. List your hypotheses by likelihood, the cheapest "
    "check for each, and the change that you would make if the first one holds.",
)


def prompts(n_requests: int, n_tokens: int, tokenize: Tokenize) -> list[Prompt]:
    """`n_requests` distinct prompts of exactly `n_tokens` tokens."""
    found = []
    for n in range(n_requests):
        text = TEXTS[n % len(TEXTS)]
        tokens = tokenize(text if n < len(TEXTS) else f"Part {n}. {text}")
        while len(tokens) < n_tokens:
            tokens = tokens + tokenize(f" And then, for case {len(tokens)}: {text}")
        found.append(tuple(tokens[:n_tokens]))
    return found
