"""`izmp replay` with the CPU time of its parts as JSON on standard output; run by bench_replay.

The parts are timed where they are, by wrapping their functions; a part that runs inside another
one counts for itself only. What is left of the process is start-up: the interpreter and imports;
what the second thread does is the hashes.
"""

import functools
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from izmp_dynamics import evaluate
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.cli.main import main
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.replay import Collector
from izmp_dynamics.results.files import ResultWriter


class Stopwatch:
    """CPU time by part [s]."""

    def __init__(self) -> None:
        self.times: defaultdict[str, float] = defaultdict(float)
        self._running = ['start-up']
        self._since = 0.0  # the time of the main thread starts at zero

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the block for `name`."""
        self._switch()
        self._running.append(name)
        yield
        self._switch()
        self._running.pop()

    def function(self, owner: Any, attribute: str, name: str) -> None:
        """Count a function."""
        inner: Callable[..., Any] = getattr(owner, attribute)

        @functools.wraps(inner)
        def timed(*arguments: Any, **options: Any) -> Any:
            with self.part(name):
                return inner(*arguments, **options)

        setattr(owner, attribute, timed)

    def generator(self, owner: Any, attribute: str, name: str) -> None:
        """Count what a function that returns an iterator does when it is asked for the next."""
        inner: Callable[..., Any] = getattr(owner, attribute)

        @functools.wraps(inner)
        def timed(*arguments: Any, **options: Any) -> Iterator[Any]:
            iterator, end = iter(inner(*arguments, **options)), object()
            while True:
                with self.part(name):
                    value = next(iterator, end)
                if value is end:
                    return
                yield value

        setattr(owner, attribute, timed)

    def finish(self) -> dict[str, float]:
        """Return the times of all parts."""
        self._switch()
        return self.times | {'hashes': time.process_time() - self._since}

    def _switch(self) -> None:
        now = time.thread_time()
        self.times[self._running[-1]] += now - self._since
        self._since = now


if __name__ == '__main__':
    watch = Stopwatch()
    watch.generator(BagReader, 'batches', 'reading')
    watch.function(Recording, '__init__', 'survey')
    watch.generator(Recording, 'spans', 'decoding')
    watch.function(Evaluator, '__init__', 'kernels')
    watch.function(Evaluator, 'push', 'evaluating')
    watch.function(Evaluator, 'flush', 'evaluating')
    watch.function(ResultWriter, 'write', 'writing')
    watch.function(BagWriter, '__exit__', 'writing')
    watch.function(Collector, 'evaluation', 'report')
    watch.function(evaluate, 'summarise', 'report')
    watch.function(evaluate, 'write_summary', 'report')
    main(sys.argv[1:])
    print(json.dumps(watch.finish()))
