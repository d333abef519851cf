"""How often somebody may come, in one process and in several."""

import multiprocessing
import os
import signal

import pytest

from hook0.rates import Rate, Rates

TEN = Rate(per_second=10, burst=5)
SECOND = 1_000_000_000


@pytest.fixture
def now():
    return [5 * SECOND]


@pytest.fixture
def rates(tmp_path, now):
    return Rates((tmp_path / "rates").open("a+b"), clock=lambda: now[0])


def come(rates, times, who=b"me", rate=TEN):
    """How many of so many are let in."""
    return sum(rates.wait(who, rate) == 0 for _ in range(times))


def test_a_burst_is_let_in_and_then_as_many_as_the_rate_says(rates, now):
    assert come(rates, 20) == 5
    for _ in range(3):
        now[0] += SECOND // 10
        assert come(rates, 20) == 1
    now[0] += 100 * SECOND
    assert come(rates, 20) == 5


def test_who_is_early_is_told_how_long_to_wait_and_is_let_in_then(rates, now):
    come(rates, 5)
    now[0] += SECOND // 50
    wait = rates.wait(b"me", TEN)
    assert wait == pytest.approx(0.08)
    now[0] += int(wait * SECOND)
    assert come(rates, 2) == 1


def test_who_keeps_coming_too_early_is_not_punished(rates, now):
    come(rates, 5000)
    now[0] += SECOND // 10
    assert come(rates, 1) == 1


def test_each_has_a_rate_of_their_own(rates):
    assert come(rates, 20, b"me") == come(rates, 20, b"you") == 5


def test_nothing_per_second_is_no_limit(rates):
    assert come(rates, 100, rate=Rate(0, 1)) == 100


def test_a_full_table_forgets_who_has_been_away_the_longest_and_goes_on(tmp_path, now, monkeypatch):
    monkeypatch.setattr("hook0.rates.SETS", 1)
    rates = Rates((tmp_path / "rates").open("a+b"), clock=lambda: now[0])
    for n in range(9):
        now[0] += 1
        assert come(rates, 20, f"{n}".encode()) == 5
    assert come(rates, 20, b"8") == 0
    assert come(rates, 20, b"0") == 5


def test_numbers_of_an_earlier_start_of_the_machine_hold_nobody_up(rates, now):
    come(rates, 5)
    now[0] = SECOND
    assert come(rates, 20) == 5


def _come_from_another_process(path, start, answers):
    rates = Rates(path.open("a+b"), clock=lambda: 5 * SECOND)
    start.wait(20)
    answers.put(come(rates, 300, rate=Rate(10, 500)))


def test_processes_share_what_they_count_and_lose_nothing(tmp_path):
    context = multiprocessing.get_context("fork")
    start, answers = context.Barrier(4), context.Queue()
    arguments = (tmp_path / "rates", start, answers)
    processes = [context.Process(target=_come_from_another_process, args=arguments) for _ in range(4)]
    for process in processes:
        process.start()
    assert sum(answers.get(timeout=20) for _ in processes) == 500
    for process in processes:
        process.join()


def _die_in_the_middle(path):
    Rates(path.open("a+b"), clock=lambda: os.kill(os.getpid(), signal.SIGKILL)).wait(b"me", TEN)


def test_a_process_that_dies_while_it_counts_holds_nobody_up(rates, tmp_path):
    process = multiprocessing.get_context("fork").Process(target=_die_in_the_middle, args=(tmp_path / "rates",))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert come(rates, 20) == 5
