"""Work that is shared out among threads comes back in order, and ends when it must."""

import threading
import time
from collections.abc import Iterator

import pytest

from mingyue.data.together import together


def test_results_come_in_order_whoever_is_first() -> None:
    def work(n: int) -> int:
        time.sleep(0.002 * (n % 3))
        return n * n

    assert list(together(range(50), work)) == [(n, n * n) for n in range(50)]
    assert list(together([], work)) == []


def test_only_some_are_read_ahead() -> None:
    read = 0

    def items() -> Iterator[int]:
        nonlocal read
        for n in range(1000):
            read += 1
            yield n

    for n, _ in together(items(), str):
        assert read <= n + 8


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["items", "work", "caller"])
def test_an_error_comes_through_and_leaves_no_thread(
    error: type[BaseException], where: str
) -> None:
    def fails(n: int, here: str) -> int:
        if n == 20 and where == here:
            raise error
        return n

    threads = threading.active_count()
    with pytest.raises(error):
        for n, _ in together((fails(n, "items") for n in range(40)), lambda n: fails(n, "work")):
            fails(n, "caller")
    assert threading.active_count() == threads
