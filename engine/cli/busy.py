"""Says when a machine is no place to measure."""

import os


def why_busy() -> str:
    """Why the machine is no place to measure now; "" when it is quiet."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load <= cores:
        return ""
    return (
        f"This machine is busy (load {load:.1f} on {cores} cores), so the figures mean little:"
        " compute threads wait for each other many times a step. Close other programs, or wait."
    )
