"""When Python looks for garbage in circles."""

import gc

YOUNG_OBJECTS = 50_000  # a batch of a thousand events is some ten thousand objects, and none of them garbage
BYTES = 32 << 20


class _Since:
    """The last look."""

    bytes = 0


def look_rarely() -> None:
    """For a program that serves: leave alone what was loaded so far, it stays; and let more objects come in between.

    By default a few hundred new ones are a reason to look, which took a fifth of the work of a batch of events.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


def passed(count: int) -> None:
    """Look when many bytes have come or gone: a few objects in a circle may hold a large body.

    An exception ties its frames into one, and a serializer itself. Threads that count at once may lose a count.
    """
    _Since.bytes += count
    if _Since.bytes >= BYTES:
        _Since.bytes = 0
        gc.collect()
