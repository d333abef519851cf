"""What happens on the clock. Every job may be missed or doubled: the next round makes up for it."""

from typing import Any

SCHEDULE: dict[str, dict[str, Any]] = {
    # The floor under the doorbell: whatever was not rung for is looked at within a second.
    "pump": {"task": "delivery.tasks.pump", "schedule": 1.0, "options": {"expires": 1.0}},
    "reap": {"task": "delivery.tasks.reap", "schedule": 1.0, "options": {"expires": 1.0}},
    "disable": {"task": "delivery.tasks.disable_failing", "schedule": 60.0, "options": {"expires": 60.0}},
    "deletions": {"task": "delivery.tasks.finish_deletions", "schedule": 60.0, "options": {"expires": 60.0}},
    "count": {"task": "events.tasks.count_events", "schedule": 60.0, "options": {"expires": 60.0}},
    "retention": {"task": "events.tasks.delete_old_events", "schedule": 10.0, "options": {"expires": 10.0}},
    "replays": {"task": "events.tasks.replay", "schedule": 1.0, "options": {"expires": 1.0}},
    "pumps": {"task": "delivery.tasks.forget_pumps", "schedule": 600.0, "options": {"expires": 600.0}},
    "idle": {"task": "delivery.tasks.forget_lanes", "schedule": 3600.0, "options": {"expires": 3600.0}},
    "lanes": {"task": "monitoring.tasks.report_held_lanes", "schedule": 30.0, "options": {"expires": 30.0}},
    "release": {"task": "events.tasks.release_bulk_loads", "schedule": 0.5, "options": {"expires": 0.5}},
    "jobs": {"task": "delivery.tasks.clean_up_jobs", "schedule": 60.0, "options": {"expires": 60.0}},
    "announce": {"task": "events.tasks.announce", "schedule": 1.0, "options": {"expires": 1.0}},
    "tallies": {"task": "delivery.tasks.count_tries", "schedule": 60.0, "options": {"expires": 60.0}},
    "partitions": {
        "task": "delivery.tasks.keep_partitions",
        "schedule": 600.0,
        "options": {"expires": 600.0},
    },
}
