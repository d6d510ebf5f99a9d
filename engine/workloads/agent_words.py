"""What the prompts of made-up agents are made of."""

from typing import Any

AREAS = ("billing", "harbour", "ledger", "weather", "transit", "clinic", "archive", "orchard")
NOUNS = (
    *("invoice", "cursor", "parcel", "window", "account", "shard", "gauge", "ticket", "route"),
    *("budget", "sensor", "lease", "draft", "cache", "queue", "token", "stamp", "ridge", "basket"),
    *("pump", "roster", "margin", "vessel", "signal", "policy", "harvest", "beacon", "voucher"),
)
VERBS = (
    *("merge", "split", "resolve", "collect", "retry", "settle", "rotate", "align", "prune"),
    *("render", "measure", "restore", "lock", "flush", "verify", "schedule", "export", "balance"),
)
SUFFIXES = (".py", ".py", ".py", ".sql", ".toml", ".md", ".json", ".sh")
TASKS = (
    "Find out why the nightly job drops every {noun} that arrives after midnight, and repair it.",
    "The total of each {noun} differs between the report and the table. Make both agree.",
    "Add a limit to what one {noun} may hold, with a migration and tests for both sides of it.",
    "Replace the old client of the {noun} service; nothing that calls it may change.",
    "A customer sees the {noun} of another one. Find the cause, and prove that it is gone.",
    "Make the import of {noun} files resume after an interruption instead of starting again.",
    "The test of the {noun} fails on every third run. Make it fail always, then never.",
    "Write the runbook for the day on which no {noun} can be written, and try each step of it.",
)
THOUGHTS = (
    "the {noun} is read twice here, so first I look at who writes it.",
    "nothing in {area} explains this. The {noun} must come from elsewhere.",
    "before I change the {noun} I want to see it fail once.",
    "two places disagree about the {noun}; the older one is likely right.",
    "the change is small, but the {noun} has other readers in {area}.",
    "that was not the cause. The {noun} was empty before the call.",
)
FAULTS = (
    "KeyError: '{noun}-{n}'",
    "TimeoutError: no {noun} within {n} ms",
    "ValueError: {noun} has {n} entries, expected 1",
    "PermissionError: [Errno 13] Permission denied: '/srv/{noun}/{n}'",
    "AssertionError: {noun} == {n}",
)


def _tool(name: str, description: str, **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"name": name, "description": description, "parameters": schema}


TOOLS = (
    _tool("list_files", "Lists a folder with sizes and dates.", path="string", depth="integer"),
    _tool("read_file", "Reads lines of a file.", path="string", first="integer", last="integer"),
    _tool("show_diff", "Shows what changed since a commit.", path="string", commit="string"),
    _tool("run_tests", "Runs tests, and says which failed.", path="string", filter="string"),
    _tool("run", "Runs a command without a network.", command="string", timeout_s="number"),
    _tool("query", "Runs a read-only SQL query.", sql="string", most_rows="integer"),
    _tool("write_file", "Replaces a file.", path="string", content="string"),
    _tool("search", "Finds lines that match a pattern.", pattern="string", path="string"),
    _tool("finish", "Ends the task with a summary.", summary="string", done="boolean"),
)
