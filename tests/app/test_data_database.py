"""Files that are foreign, newer, older, damaged or in use are told apart and left alone."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.data.conversations import Conversations
from app.data.data_error import DataError
from app.data.database import move_aside, open_database
from app.data.schema import MIGRATIONS
from tests.helpers.data_child import DataChild


def made(path: Path, *texts: str) -> Path:
    """A database with one chat of these messages."""
    conversations = Conversations(path)
    chat = conversations.create(title="chat")
    for text in texts:
        conversations.add_message(chat.id, "user", text)
    conversations.close()
    return path


def refusal(path: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        Conversations(path)
    return caught.value


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but SQLite's shared memory, which holds no data."""
    files = (file for file in folder.glob("c.sqlite*") if not file.name.endswith("-shm"))
    return {file.name: file.read_bytes() for file in files}


def test_a_newer_database_is_refused_and_not_changed_by_a_byte(
    qapp: object, tmp_path: Path
) -> None:
    path = made(tmp_path / "c.sqlite", "hello")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = contents(tmp_path)
    error = refusal(path)
    assert error.kind == "newer"
    assert "newer Runahead" in str(error)
    assert contents(tmp_path) == before


def test_a_newer_version_that_still_lies_in_the_wal_is_seen(qapp: object, tmp_path: Path) -> None:
    path = made(tmp_path / "c.sqlite", "hello")
    copies = tmp_path / "copies"
    copies.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        for end in ("", "-wal"):  # as a crash would leave them
            (copies / f"c.sqlite{end}").write_bytes((tmp_path / f"c.sqlite{end}").read_bytes())
    before = contents(copies)
    assert int.from_bytes(before["c.sqlite"][60:64], "big") == len(MIGRATIONS)
    assert refusal(copies / "c.sqlite").kind == "newer"
    assert contents(copies) == before


def test_a_database_of_another_program_is_refused(qapp: object, tmp_path: Path) -> None:
    for number, statement in enumerate(["PRAGMA application_id = 77", "CREATE TABLE other (x)"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with closing(sqlite3.connect(folder / "c.sqlite")) as connection:
            connection.execute(statement)
        before = contents(folder)
        assert refusal(folder / "c.sqlite").kind == "foreign"
        assert contents(folder) == before


@pytest.mark.parametrize("damage", ["text", "short", "page"])
def test_a_damaged_database_is_told_and_moved_aside_only_when_asked(
    qapp: object, tmp_path: Path, damage: str
) -> None:
    path = made(tmp_path / "c.sqlite", *("some text " * 100 for _ in range(50)))
    if damage == "text":
        path.write_bytes(b"not a database at all " * 500)
    elif damage == "short":
        path.write_bytes(path.read_bytes()[:50])
    else:
        data = bytearray(path.read_bytes())
        for page in range(3, len(data) // 4096, 2):
            data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
        path.write_bytes(data)
    before = path.read_bytes()
    error = refusal(path)
    assert error.kind == "damaged"
    assert str(path) in str(error)
    assert path.read_bytes() == before

    aside = move_aside(path)
    assert aside.read_bytes() == before
    conversations = Conversations(path)
    assert conversations.all() == []
    conversations.close()


def test_damage_that_sqlite_names_in_bytes_that_are_no_text_is_damage(
    qapp: object, tmp_path: Path
) -> None:
    path = made(tmp_path / "c.sqlite", "Hello")
    data = path.read_bytes()
    at = data.index(b"CREATE TABLE message")
    path.write_bytes(data[:at] + b"CREATE TABL\xf8 m\xf8ssage" + data[at + 20 :])
    assert refusal(path).kind == "damaged"


def test_a_letter_that_the_disk_has_changed_costs_that_letter_only(
    qapp: object, tmp_path: Path
) -> None:
    path = made(tmp_path / "c.sqlite", "Hello", "there")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE message SET text = CAST(x'48ff6c6c6f' AS TEXT) WHERE n = 1")
        connection.execute("UPDATE conversation SET title = CAST(x'63ff' AS TEXT)")
        connection.commit()
    conversations = Conversations(path)
    (chat,) = conversations.all()
    assert chat.title == "c\ufffd"
    assert [each.text for each in conversations.path(chat.id)] == ["H\ufffdllo", "there"]
    conversations.close()


def test_an_older_database_is_brought_to_this_version_with_all_it_holds(
    qapp: object, tmp_path: Path
) -> None:
    path = tmp_path / "c.sqlite"
    with closing(open_database(path, MIGRATIONS[:1])) as connection:
        connection.execute(
            "INSERT INTO conversation (id, title, created, updated, kind, system_prompt, preset,"
            " draft) VALUES ('c', 'old', 1, 2, 'chat', '', '', '')"
        )
        connection.execute(
            "INSERT INTO message VALUES (1, 'm', 'c', NULL, 'user', 'done', 1, NULL, 'hello')"
        )
        connection.execute("UPDATE conversation SET leaf = 'm'")
    conversations = Conversations(path)
    [chat] = conversations.all()
    assert [message.text for message in conversations.path(chat.id)] == ["hello"]
    assert [hit.message for hit in conversations.search("hell")] == ["m"]
    assert conversations.store.rows("PRAGMA user_version") == [(len(MIGRATIONS),)]
    conversations.close()


def test_a_migration_that_fails_leaves_the_file_at_its_version(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    open_database(path).close()
    broken = (*MIGRATIONS, "CREATE TABLE half (x);\nCREATE TABLE message (x);")
    with pytest.raises(DataError):
        open_database(path, broken)
    with closing(open_database(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        found = connection.execute("SELECT name FROM sqlite_schema WHERE name = 'half'")
        assert found.fetchall() == []


def test_a_second_process_is_told_who_has_it_and_a_dead_one_does_not_count(
    qapp: object, tmp_path: Path
) -> None:
    path = tmp_path / "c.sqlite"
    with DataChild(path) as child:
        child.wait_for_acknowledged(1)
        error = refusal(path)
        assert error.kind == "in use"
        assert str(child.pid) in str(error)
        child.kill()
    conversations = Conversations(path)
    assert len(conversations.all()) >= 1
    conversations.close()


def test_who_may_have_it_on_another_computer_is_named_with_the_way_out(
    qapp: object, tmp_path: Path
) -> None:
    path, lock = tmp_path / "c.sqlite", tmp_path / "c.sqlite.lock"
    conversations = Conversations(path)
    process, app, _, machine, *rest = lock.read_text().split("\n")
    conversations.close()
    for text in ("\n".join([process, app, "laptop", machine[::-1], *rest]), ""):
        lock.write_text(text)
        error = refusal(path)
        assert error.kind == "in use"
        assert f"delete {lock}" in error.hint
        assert ("on the computer laptop" in error.hint) == bool(text)
    lock.unlink()
    Conversations(path).close()


def test_a_folder_that_cannot_be_made_is_told(qapp: object, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = refusal(tmp_path / "file" / "folder" / "c.sqlite")
    assert error.kind == "storage"
    assert "file" in str(error)


def test_what_was_acknowledged_is_synced_to_the_disk(qapp: object, tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "c.sqlite")) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
