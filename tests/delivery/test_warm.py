"""The connections that threads take turns with."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest
from django.db import close_old_connections, connection, connections, transaction

from delivery import warm
from delivery.queue import Connection
from delivery.warm import MOST, warm_connection
from tests.factories import make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)


def server_process() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def lent() -> int:
    with warm_connection():
        return server_process()


def end(server_process: int, by: Connection) -> None:
    by.execute("SELECT pg_terminate_backend(%s, 5000)", [server_process])


def test_every_thread_gets_the_one_that_was_used_last():
    own, first = server_process(), lent()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lent).result() == lent() == first != own
    assert server_process() == own


def test_those_who_want_one_at_the_same_time_get_one_each_and_more_of_them_use_their_own():
    together, seen = threading.Barrier(MOST + 2), []

    def work() -> None:
        with warm_connection():
            together.wait(10)
            seen.append(server_process())
            together.wait(10)
        connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(MOST + 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == MOST + 2
    assert len(warm._spare) == MOST
    assert lent() in seen


def test_who_is_in_a_transaction_stays_in_it():
    with transaction.atomic():
        assert lent() == server_process()


def test_one_that_the_server_has_ended_is_made_anew(application, open_connection):
    make_subscription(application)
    before = lent()
    end(before, open_connection())
    publish(application)
    assert lent() != before


def test_who_gets_none_has_one_that_stands_too(application, open_connection):
    make_subscription(application)
    with ExitStack() as all_of_them:
        for _ in range(MOST):
            all_of_them.enter_context(warm_connection())
        before = server_process()
        end(before, open_connection())
        close_old_connections()  # as each request begins
        publish(application)
        assert server_process() != before


def test_a_child_takes_none_of_its_parents():
    before = lent()
    if not (child := os.fork()):
        with suppress(BaseException):
            os._exit(0 if lent() != before else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert lent() == before


def test_one_that_failed_is_given_back():
    before = lent()
    with pytest.raises(ZeroDivisionError), warm_connection():
        1 / 0  # noqa: B018
    assert lent() == before
