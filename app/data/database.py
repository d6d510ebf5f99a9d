"""Opening the database: whose file it is, which version, and the way to the current one.

A file that is refused has not been changed by a byte.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from app.data.data_error import DataError, damaged, from_sqlite
from app.data.schema import APPLICATION_ID, MIGRATIONS

_MAGIC = b"SQLite format 3\0"
_SIDE_FILES = ("-wal", "-shm")
# A check of every page costs about a second per 500 MB; larger files are checked as they are read.
_MOST_CHECKED_BYTES = 128 << 20
_MOST_WAL_BYTES = 32 << 20  # kept between checkpoints; long replies that stream write a lot


def open_database(path: Path, migrations: Sequence[str] = MIGRATIONS) -> sqlite3.Connection:
    """The writing connection, with the schema of this version.

    Raises:
        DataError: Newer, damaged, of another program, or the disk does not let us.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _check_owner(path, len(migrations))
        connection = _connect(path)
    except OSError as error:
        raise DataError(
            "storage",
            f"Conversations could not be opened: {error.strerror} ({error.filename})",
            "Check that the folder exists and may be written to.",
        ) from None
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise from_sqlite(error, path, "could not be opened") from None
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            raise _foreign(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA journal_size_limit = {_MOST_WAL_BYTES}")
        _check_pages(connection, path)
        _migrate(connection, migrations)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        connection.close()
        raise from_sqlite(error, path, "could not be opened") from None
    except DataError:
        connection.close()
        raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that sees what has been committed, and waits for no writer."""
    connection = _connect(path)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA mmap_size = 268435456")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of what is done within, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite has already gone back when the disk is full
            connection.execute("ROLLBACK")
        raise


def move_aside(path: Path) -> Path:
    """Rename a damaged file, with what belongs to it, so that an empty one can take its place.

    Only ever called because the user agreed. Returns the new name.
    """
    stamp = time.strftime("%Y-%m-%d %H.%M.%S")
    aside = path.with_name(f"{path.stem} (damaged {stamp}){path.suffix}")
    for end in ("", *_SIDE_FILES):
        side = path.with_name(path.name + end)
        if side.exists():
            side.rename(aside.with_name(aside.name + end))
    return aside


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=2.0, isolation_level=None, check_same_thread=False)
    # A byte that a disk has changed costs its letter, and not the conversation.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _check_owner(path: Path, n_migrations: int) -> None:
    """Refuse what is not ours or newer, from the bytes of the file before SQLite touches it."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise damaged(path, "it does not begin as a database does")
    numbers = [int.from_bytes(header[at : at + 4], "big") for at in (68, 60)]
    _refuse(path, n_migrations, *numbers)
    wal = path.with_name(path.name + "-wal")
    if wal.exists() and wal.stat().st_size:  # what is newest lies there, perhaps the version too
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as reader:
            numbers = [
                reader.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            ]
        _refuse(path, n_migrations, *numbers)


def _refuse(path: Path, n_migrations: int, application_id: int, version: int) -> None:
    if application_id not in (0, APPLICATION_ID) or (application_id == 0 and version):
        raise _foreign(path)
    if version > n_migrations:
        raise DataError(
            "newer",
            f"The conversations in {path} were written by a newer Runahead "
            f"(version {version}; this one knows up to {n_migrations})",
            "Install the newer Runahead again, or choose another data folder. Nothing was changed.",
        )


def _foreign(path: Path) -> DataError:
    return DataError(
        "foreign",
        f"{path} belongs to another program",
        "Choose another data folder, or move that file away.",
    )


def _check_pages(connection: sqlite3.Connection, path: Path) -> None:
    n_bytes = path.stat().st_size
    if n_bytes > _MOST_CHECKED_BYTES:
        return
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise damaged(path, str(found).replace("\n", " "))


def _migrate(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == len(migrations):
        return
    with transaction(connection):
        for script in migrations[version:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _statements(script: str) -> Iterator[str]:
    """One at a time: `executescript` would commit before it starts."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
