"""How busy the machine's cores are with us: processor time over time, over cores."""

import os
import time

from mingyue.language import tr


class Load:
    """The share of all cores that this process has used since it was last asked."""

    def __init__(self) -> None:
        self.cores = (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
        self._before = time.monotonic(), time.process_time()
        self._share = 0.0

    def shown(self) -> str:
        """In words; measured over a second at least, empty before that."""
        now, used = time.monotonic(), time.process_time()
        if now - self._before[0] >= 1:
            self._share = (used - self._before[1]) / (now - self._before[0]) / self.cores
            self._before = now, used
        if not self._share:
            return ""
        return tr("{cores} cores {share} busy", cores=self.cores, share=f"{self._share:.0%}")
