"""The event types that hook0 itself sends: anybody may subscribe to them, and no client can send or declare such."""

RESERVED_SERVICE = "hook0"
EXHAUSTED, RECOVERED = f"{RESERVED_SERVICE}.delivery.exhausted", f"{RESERVED_SERVICE}.delivery.recovered"
DISABLED, BLOCKED = f"{RESERVED_SERVICE}.subscription.disabled", f"{RESERVED_SERVICE}.lane.blocked"
ANNOUNCEMENTS = (EXHAUSTED, RECOVERED, DISABLED, BLOCKED)
