"""What tasks, items and their states are called in the window."""

import time

from app.data.task import TaskItem
from app.language import tr
from app.subtasks.row_look import RowLook
from app.subtasks.task_run import TaskRun

_TAIL = 300  # characters of a growing text that a row looks at
_ICONS = {
    "waiting": ("clock", "muted"),
    "running": ("spark", "accent"),
    "done": ("check", "success"),
    "stopped": ("stop", "muted"),
    "failed": ("error", "danger"),
}


def item_look(run: TaskRun, place: int) -> RowLook:
    """An item in the list."""
    item = run.items[place]
    icon, role = _ICONS[item.state]
    line, line_role, from_end, share = "", "muted", False, None
    live = run.live(place)
    if live is not None:
        line, from_end = tail(live.text), True
        if not line:
            line, from_end = tr("Waiting for its turn…"), False
            if live.total:
                line, share = tr("Reading prompt"), live.done / live.total
    elif item.state == "waiting":
        line = tr("Queued") if run.is_queued(place) else tr("Not run yet")
    elif item.state == "failed":
        line, line_role = item.detail or tr("Failed"), "danger"
    else:
        line = first_line(run.answer(place), item.text) or state_word(run, item)
    return RowLook(
        icon=icon,
        icon_role=role,
        title=item.text,
        figures=item_figures(run, place),
        line=line,
        line_role=line_role,
        from_end=from_end,
        share=share,
    )


def item_figures(run: TaskRun, place: int) -> str:
    """For example "312 tokens · 12.4/s"."""
    if live := run.live(place):
        n_tokens, rate = live.n_tokens, live.tokens_per_s
    else:
        message = run.reply(place) if run.items[place].state != "waiting" else None
        known = message.result if message else None
        n_tokens, rate = (known.n_tokens, known.tokens_per_s) if known else (0, 0.0)
    if not n_tokens:
        return ""
    figures = tr("1 token") if n_tokens == 1 else tr("{n} tokens", n=f"{n_tokens:,}")
    return f"{figures} · {rate:.1f}/s" if rate else figures


def state_word(run: TaskRun, item: TaskItem) -> str:
    """The state as a word or two."""
    if item.state == "waiting":
        return tr("Queued") if run.is_queued(item.place) else tr("Not run yet")
    if item.state == "running":
        live = run.live(item.place)
        return tr("Reading prompt") if live and live.total and not live.n_tokens else tr("Writing")
    return {"done": tr("Done"), "stopped": tr("Stopped"), "failed": tr("Failed")}[item.state]


def run_line(run: TaskRun) -> str:
    """How the run stands, for example "3 of 5 done · 2 running · 30.1 tokens/s"."""
    counts = run.counts
    parts = [tr("{done} of {n} done", done=counts["done"], n=len(run.items))]
    if counts["running"]:
        parts.append(tr("{n} running", n=counts["running"]))
    queued = sum(run.is_queued(item.place) for item in run.items) if run.is_active else 0
    for n, words in (
        (queued, tr("{n} queued", n=queued)),
        (counts["failed"], tr("{n} failed", n=counts["failed"])),
        (counts["stopped"], tr("{n} stopped", n=counts["stopped"])),
        (counts["waiting"] - queued, tr("{n} not run", n=counts["waiting"] - queued)),
    ):
        if n:
            parts.append(words)
    if run.is_active and run.tokens_per_s:
        parts.append(tr("{rate} tokens/s", rate=f"{run.tokens_per_s:.1f}"))
    return " · ".join(parts)


def run_look(run: TaskRun) -> RowLook:
    """A task in the list of tasks."""
    counts, n = run.counts, len(run.items)
    icon, role, share = "check", "success", None
    line = tr("{n} items", n=n) if n != 1 else tr("1 item")
    if run.is_active or run.summary.is_active:
        icon, role, share = "spark", "accent", counts["done"] / n
        line = tr("{done} of {n} done", done=counts["done"], n=n)
    elif counts["failed"] or run.trouble:
        icon, role = "warning", "warning"
        line = tr("{n} of {all} unfinished", n=run.n_unfinished, all=n)
    elif counts["done"] < n:
        icon, role = "clock", "muted"
        line = tr("{n} of {all} unfinished", n=run.n_unfinished, all=n)
    return RowLook(
        icon=icon,
        icon_role=role,
        title=run.task.title,
        figures=day(run.task.created),
        line=line,
        share=share,
    )


def day(seconds: float) -> str:
    """A short word for when that was."""
    then, now = time.localtime(seconds), time.localtime()
    if then[:3] == now[:3]:
        return time.strftime("%H:%M", then)
    return time.strftime("%d %b" if then[0] == now[0] else "%d %b %Y", then)


def tail(text: str) -> str:
    """The last line that says something."""
    return next((line.strip() for line in reversed(text[-_TAIL:].splitlines()) if line.strip()), "")


def first_line(text: str, known: str = "") -> str:
    """The first line that says more than `known`, without the marks of Markdown."""
    lines = (line.strip().lstrip("#>*- ").replace("**", "") for line in text[:2000].splitlines())
    return next((line for line in lines if line not in ("", known) and line[:3] != "```"), "")
