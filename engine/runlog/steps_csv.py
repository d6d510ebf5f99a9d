"""Export of a run's steps as CSV: one line of metrics per step."""

import csv
from typing import IO

from engine import metrics


def write_steps_csv(steps: metrics.Steps, file: IO[str]) -> int:
    """Write a header and every step; returns how many. Columns are those of metrics.STEP_DTYPE."""
    writer = csv.writer(file)
    names = list(metrics.STEP_DTYPE.names or ())
    writer.writerow(names)
    for row in steps.tolist():
        writer.writerow(f"{value:.6g}" if isinstance(value, float) else value for value in row)
    return len(steps)
