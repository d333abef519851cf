import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Whether the connection still stands is seen from this side: Django would ask the server, before each request."""

    def is_usable(self) -> bool:
        if self.errors_occurred or self.connection.closed or _has_something_to_read(self.connection.fileno()):
            return super().is_usable()
        return True


def _has_something_to_read(descriptor: int) -> bool:
    """A server that was asked nothing says nothing, until it hangs up."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
