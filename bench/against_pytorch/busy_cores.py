"""How busy the rest of this computer is while something is measured (Linux)."""

import os
import resource
import time

IDLE_COLUMNS = (3, 4)  # idle and waiting for a drive; steal counts as busy
GUEST_COLUMNS = (8, 9)  # already counted as user time


def busy_seconds():
    """Of all cores since the start of the computer."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:]]
    return sum(t for i, t in enumerate(ticks) if i not in IDLE_COLUMNS + GUEST_COLUMNS) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """Of this program and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class OtherPrograms:
    """Watches from its construction on."""

    def __init__(self):
        self.start = time.monotonic(), busy_seconds() - own_seconds()

    def cores(self):
        """Cores that other programs kept busy on average."""
        began, others = self.start
        return max(0.0, (busy_seconds() - own_seconds() - others) / (time.monotonic() - began))
