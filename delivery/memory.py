"""How often Python looks for garbage in circles."""

import gc

YOUNG_OBJECTS = 50_000  # a batch of a thousand events is some ten thousand objects, and none of them garbage


def look_rarely() -> None:
    """Leave alone what was loaded so far, for a program that serves: it stays. Of the rest look at much at a time.

    By default each few hundred new objects are a reason to look: a fifth of the work of a batch of events.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
