"""A benchmark's figures for a terminal: one table per case, and what is wrong with its link."""

from rich import box
from rich.table import Table

from engine.bench import medians
from engine.bench_report import LINK_KEPT, BenchReport
from engine.link_speed import LinkSpeed


def bench_table(report: BenchReport, case: tuple[int, float, int]) -> Table:
    """Medians over the rounds, and the first policy against each other one."""
    requests, cache, bytes_per_s = case
    link = LinkSpeed(bytes_per_s)
    own = [run for run in report.runs if run.case == case]
    policies = [p for p in report.plan.policies if any(run.policy == p for run in own)]
    table = Table(
        title=f"{requests} requests, cache {cache:.0%}, link {link.labelled}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    table.add_column("policy", overflow="fold")
    for name in ("tok/s", "step ms", "compute", "link", "both", "GB/s", "hits"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("fetched", "ahead", "wasted", f"{report.plan.policies[0]} is"):
        table.add_column(name, justify="right", no_wrap=True)
    for policy in policies:
        runs = [run for run in own if run.policy == policy]
        step_ms = medians(runs, "step_ms")
        ratio = next((r for r in report.ratios if r.b == policy and r.case == case), None)
        table.add_row(
            policy,
            f"{medians(runs, 'tokens_per_s'):.2f}",
            f"{step_ms:.1f}",
            *(
                f"{medians(runs, field) / step_ms:.0%}" if step_ms else ""
                for field in ("compute_busy_ms", "link_busy_ms", "both_busy_ms")
            ),
            f"{medians(runs, 'link_gbps'):.2f}",
            f"{medians(runs, 'hit_rate'):.0%}",
            f"{medians(runs, 'fetched'):.1f}",
            f"{medians(runs, 'prefetched'):.1f}",
            f"{medians(runs, 'wasted'):.1f}",
            f"{ratio.median:.2f}x ({ratio.min:.2f}..{ratio.max:.2f})" if ratio else "",
        )
    return table


def slow_links(report: BenchReport) -> list[str]:
    """One sentence per case whose emulated speed the disk could not give."""
    sentences = []
    for case in dict.fromkeys(run.case for run in report.runs):
        slow = [run for run in report.runs if run.case == case and not run.link_kept]
        if slow:
            least = min(slow, key=lambda run: run.link_gbps)
            sentences.append(
                f"{case[0]} requests, cache {case[1]:.0%}: the link was to be paced to"
                f" {LinkSpeed(case[2])}, but the disk gave {least.link_gbps:.2g} GB/s"
                f" ({least.policy}, round {least.round + 1}; {len(slow)} of the runs had under"
                f" {LINK_KEPT:.0%} of it): these figures are of a slower link."
            )
    return sentences
