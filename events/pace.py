"""How fast bulk loads may be released: as fast as live deliveries do not notice. Pure, with the clock as an argument.

A pace looks at the live deliveries that end while it releases. One in a hundred of them may take longer than the p99 of
those that ended while nothing was released, and a tenth: with fewer it speeds up, with more it slows down. It slows
down, too, when what it has released waits. Now and then it holds still, to see how live deliveries do by themselves.
"""

from dataclasses import dataclass, replace

FIRST = 200.0  # events per second
LEAST = 10.0
FASTER, SLOWER = 1.25, 0.7
TOLERANCE = 1.1  # of the p99 of live deliveries
SHARE = 0.01  # of them that may be slower
MOST_WAIT = 1.0  # seconds in line of what was released, in the middle
SETTLE_SECONDS = 0.5  # until what a change has done is seen
STEP_SECONDS = 2.0
ENOUGH = 100  # live deliveries to go by,
ENOUGH_SECONDS = 10.0  # or what there was of them in this time,
TOO_MANY = 4  # or so many slow ones
CALM_SECONDS = 2.0  # and so often, since others come and go on the machines as well
CALM_EVERY_SECONDS = 8.0
IDLE_SECONDS = 60.0  # without a release: what was known then is no longer so
SAMPLES = 500
USED = 0.6  # of the rate: one that is not used is not raised


@dataclass(frozen=True)
class Pace:
    """What was decided last, and what has been seen since."""

    since: float
    is_calm: bool = True  # nothing is released
    per_second: float = FIRST
    calm: tuple[float, ...] = ()  # how long live deliveries take by themselves, the latest ones
    calm_until: float = 0.0  # when it held still last
    live: int = 0
    slow: int = 0
    looked_at: float = 0.0

    @property
    def limit(self) -> float | None:
        """What a live delivery may take; nothing is known of it before there were some."""
        if not self.calm:
            return None
        return TOLERANCE * sorted(self.calm)[min(len(self.calm) - 1, int(len(self.calm) * (1 - SHARE)))]

    @property
    def share(self) -> float:
        """How many may be slower: of few calm ones, one more than the slowest is no wonder."""
        return max(SHARE, 1 / (len(self.calm) + 1))


@dataclass(frozen=True)
class Sight:
    """What was released since the last change, and what the log shows of deliveries made since that has settled."""

    now: float
    released: int = 0
    deliveries: int = 0
    live: tuple[float, ...] = ()  # how long live ones took that ended since the last look
    wait: float | None = None  # how long released ones waited, in the middle; none has ended: None
    is_served: bool = True  # somebody delivers


def begin(now: float) -> Pace:
    """After a time without releases: what ended in it was calm."""
    return Pace(since=now - IDLE_SECONDS, looked_at=now - IDLE_SECONDS)


def decide(pace: Pace, sight: Sight) -> Pace:
    """The pace from now on."""
    looked = replace(pace, looked_at=sight.now)
    if looked.is_calm:
        looked = replace(looked, calm=(looked.calm + sight.live)[-SAMPLES:])
        is_over = sight.now - looked.since >= CALM_SECONDS
        return _changed(looked, sight.now, is_calm=False, calm_until=sight.now) if is_over else looked
    limit = looked.limit
    if sight.live and (limit is None or sight.now - looked.calm_until >= CALM_EVERY_SECONDS):
        return _changed(looked, sight.now, is_calm=True)
    slow = sum(each > limit for each in sight.live) if limit is not None else 0
    looked = replace(looked, live=looked.live + len(sight.live), slow=looked.slow + slow)
    factor = _factor(looked, sight)
    if factor is None:
        return looked
    return _changed(looked, sight.now, per_second=max(LEAST, looked.per_second * factor))


def _factor(pace: Pace, sight: Sight) -> float | None:
    """How much faster or slower to go; None is not to be said yet."""
    elapsed = sight.now - pace.since
    if elapsed < STEP_SECONDS:
        return None
    if _is_stuck(sight):
        return SLOWER
    if pace.live and pace.live < ENOUGH and elapsed < ENOUGH_SECONDS and pace.slow < TOO_MANY * pace.share / SHARE:
        return None
    # On average it stays as it is when just as many are slow as may be.
    factor: float = FASTER ** (1 - pace.slow / (pace.share * max(pace.live, ENOUGH)))
    # Nothing comes out of what was put in where all of it is for who is paused, or does not answer.
    is_tried = sight.wait is not None or not sight.deliveries
    if factor > 1 and not (is_tried and sight.released >= USED * pace.per_second * elapsed):
        return 1.0 if elapsed >= ENOUGH_SECONDS else None
    return max(SLOWER, factor)


def _is_stuck(sight: Sight) -> bool:
    if sight.wait is None:
        return sight.deliveries > 0 and not sight.is_served
    return sight.wait > MOST_WAIT


def _changed(pace: Pace, now: float, **changes: float) -> Pace:
    return replace(pace, since=now, live=0, slow=0, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Allowance:
    """A rate, used up until some moment; what was not used longer than `burst` seconds ago is forgotten."""

    per_second: float
    used_until: float
    burst: float

    def room(self, now: float) -> int:
        """How many may go now."""
        return max(0, int((now - self._from(now)) * self.per_second + 1e-6))

    def use(self, amount: int, now: float) -> float:
        """Until when it is used up once so many have gone."""
        return self._from(now) + amount / self.per_second

    def _from(self, now: float) -> float:
        return max(self.used_until, now - self.burst)
