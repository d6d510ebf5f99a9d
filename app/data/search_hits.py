"""What a search has found, as the list of chats shows it."""

from collections.abc import Iterable

from app.data.conversation import Conversation, SearchHit
from app.data.data_error import DataError
from app.data.searcher import Found, Rows, snippet
from app.language import tr

UNREADABLE = tr("The text with these words cannot be read any more: its file is damaged.")


def hits_in(
    conversations: Iterable[Conversation], rows: Rows, text: str, found: Found, most: int
) -> list[SearchHit]:
    """The first of `conversations` whose title or whose message has every word of `text`."""
    words = text.split()
    newest = dict(found)
    hits: list[SearchHit] = []
    for conversation in conversations:
        title = conversation.title.casefold()
        in_title = bool(words) and all(word.casefold() in title for word in words)
        if (not in_title and conversation.id not in newest) or len(hits) == most:
            continue
        message, shown = None, ""
        if conversation.id in newest:
            message, shown = _told(rows, newest[conversation.id], words)
        hits.append(SearchHit(conversation=conversation, message=message, snippet=shown))
    return hits


def _told(rows: Rows, n: int, words: list[str]) -> tuple[str | None, str]:
    """A message's id and the text around the first place; what is damaged costs only itself."""
    try:
        for id_, body in rows("SELECT id, text FROM message WHERE n = ?", (n,)):
            return str(id_), snippet(str(body), words)
    except DataError:
        return None, UNREADABLE
    return None, ""
