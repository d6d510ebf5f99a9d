"""The schema of the database, as the steps that lead to it.

A step, once released, never changes; the version of a file (`user_version`) is how many of them it
has been through.
"""

APPLICATION_ID = 0x52754168  # "RuAh", at byte 68 of the file

# `text` comes last, so that the other columns are read without walking through a long text.
# A chain of replies may be longer than SQLite's limit on nested cascades (1,000): messages go with
# their conversation, never through their parent.
_CONVERSATIONS = """
CREATE TABLE conversation (
    id TEXT PRIMARY KEY NOT NULL,
    title TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    kind TEXT NOT NULL,
    system_prompt TEXT NOT NULL,
    preset TEXT NOT NULL,
    draft TEXT NOT NULL,
    leaf TEXT REFERENCES message(id) DEFERRABLE INITIALLY DEFERRED,
    task TEXT,
    removed REAL
) STRICT;
CREATE TABLE message (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation TEXT NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
    parent TEXT REFERENCES message(id) DEFERRABLE INITIALLY DEFERRED,
    role TEXT NOT NULL,
    state TEXT NOT NULL,
    created REAL NOT NULL,
    result TEXT,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX message_of_conversation ON message(conversation);
CREATE INDEX message_of_parent ON message(parent);
CREATE INDEX conversation_of_leaf ON conversation(leaf);
CREATE INDEX message_streaming ON message(n) WHERE state = 'streaming';
"""

# A text that still streams changes several times a second: it is indexed when it ends.
_SEARCH = """
CREATE VIRTUAL TABLE message_search USING fts5(
    text, content='message', content_rowid='n', tokenize='trigram'
);
CREATE TRIGGER message_added AFTER INSERT ON message WHEN new.state <> 'streaming' BEGIN
    INSERT INTO message_search(rowid, text) VALUES (new.n, new.text);
END;
CREATE TRIGGER message_removed AFTER DELETE ON message WHEN old.state <> 'streaming' BEGIN
    INSERT INTO message_search(message_search, rowid, text) VALUES ('delete', old.n, old.text);
END;
CREATE TRIGGER message_changed AFTER UPDATE OF text, state ON message BEGIN
    INSERT INTO message_search(message_search, rowid, text)
        SELECT 'delete', old.n, old.text WHERE old.state <> 'streaming';
    INSERT INTO message_search(rowid, text)
        SELECT new.n, new.text WHERE new.state <> 'streaming';
END;
"""

_TASKS = """
CREATE TABLE task (
    id TEXT PRIMARY KEY NOT NULL,
    title TEXT NOT NULL,
    created REAL NOT NULL,
    prompt TEXT NOT NULL,
    system_prompt TEXT NOT NULL,
    preset TEXT NOT NULL,
    at_once INTEGER NOT NULL,
    is_split INTEGER NOT NULL,
    summarise INTEGER NOT NULL,
    summary TEXT REFERENCES conversation(id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
    summary_reply TEXT,
    removed REAL
) STRICT;
CREATE TABLE task_item (
    id TEXT PRIMARY KEY NOT NULL,
    task TEXT NOT NULL REFERENCES task(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    place INTEGER NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,
    conversation TEXT REFERENCES conversation(id) ON DELETE SET NULL
        DEFERRABLE INITIALLY DEFERRED,
    reply TEXT
) STRICT;
CREATE INDEX task_item_of_task ON task_item(task);
CREATE INDEX task_item_of_conversation ON task_item(conversation);
CREATE INDEX task_of_summary ON task(summary);
"""

MIGRATIONS: tuple[str, ...] = (_CONVERSATIONS + _SEARCH, _TASKS)
