"""How fast bulk loads may be released: as fast as live deliveries do not notice. Pure, with the clock as an argument.

A pace looks at the live deliveries that end while it releases. One in a hundred may take longer than the slowest
hundredth did while nothing was released, and a tenth: more, and it slows down; no more, and it speeds up. It slows
down, too, when what it has released waits. Now and then it holds still, to see how live deliveries do by themselves.
"""

from dataclasses import dataclass, replace

FIRST = 200.0  # events per second
LEAST = 10.0
FASTER, SLOWER = 1.25, 0.7
TOLERANCE = 1.1  # of the p99 of live deliveries
SHARE = 0.01  # of them that may be slower
CHANCE = 3  # so many more are no reason yet
MOST_WAIT = 1.0  # seconds in line of what was released, in the middle
SETTLE_SECONDS = 1.0  # until what a change has done is seen
STEP_SECONDS = 2.0
ENOUGH = 100  # live deliveries to go by,
ENOUGH_SECONDS = 10.0  # or what there was of them in this time
CALM_SECONDS = 4.0
CALM_EVERY_SECONDS = 60.0
SAMPLES = 500
USED = 0.8  # of the rate: one that is not used is not raised


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


@dataclass(frozen=True)
class Sight:
    """What was released since the last change, and what the log shows of deliveries made since that has settled."""

    now: float
    released: int = 0
    deliveries: int = 0
    live: tuple[float, ...] = ()  # how long live ones took that ended since the last look
    wait: float | None = None  # how long released ones waited, in the middle; none has ended: None


def begin(now: float) -> Pace:
    """After a time without releases: what ended in it was calm."""
    return Pace(since=now - CALM_EVERY_SECONDS, looked_at=now - CALM_EVERY_SECONDS)


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
    elapsed = sight.now - looked.since
    if elapsed < STEP_SECONDS:
        return looked
    if _is_too_fast(looked, sight):
        return _changed(looked, sight.now, per_second=max(LEAST, looked.per_second * SLOWER))
    if _may_be_faster(looked, sight):
        return _changed(looked, sight.now, per_second=looked.per_second * FASTER)
    return looked


def _is_too_fast(pace: Pace, sight: Sight) -> bool:
    if pace.slow > SHARE * pace.live + CHANCE:
        return True
    # Nothing has come out of what was put in: nobody delivers, or it waits for longer than we look back.
    return sight.wait > MOST_WAIT if sight.wait is not None else sight.deliveries > 0


def _may_be_faster(pace: Pace, sight: Sight) -> bool:
    elapsed = sight.now - pace.since
    is_known = not pace.live or pace.live >= ENOUGH or elapsed >= ENOUGH_SECONDS
    return is_known and pace.slow <= SHARE * pace.live and sight.released >= USED * pace.per_second * elapsed


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
