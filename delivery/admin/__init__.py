"""The queue's pages: what waits, what was tried, what was given up, and who did what."""

from delivery.admin import attempts, audit, dead_letters, jobs, lanes, pending, pumps, workers

__all__ = ["attempts", "audit", "dead_letters", "jobs", "lanes", "pending", "pumps", "workers"]
