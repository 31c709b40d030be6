"""Runs in openai-agents' environment: CPU seconds to apply a V4A diff so many times."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from agents.apply_diff import apply_diff  # type: ignore[import-not-found]

home = Path(os.environ["BENCH_PATCH"])
old, diff, new = (
    home.joinpath(name).read_text(encoding="utf-8") for name in ("old", "diff", "new")
)
if apply_diff(old, diff) != new:
    sys.exit("openai-agents did not do the same work")
for line in sys.stdin:
    times = int(line)
    start = time.process_time()
    for _ in range(times):
        apply_diff(old, diff)
    print((time.process_time() - start) / times, flush=True)
