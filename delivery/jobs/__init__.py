"""A queue of jobs for workers. `Queue` is all that services of the same project need."""

from delivery.jobs.job import Cancelled, Job, NewJob, Statistics
from delivery.jobs.queue import Queue
from delivery.jobs.states import State

__all__ = ["Cancelled", "Job", "NewJob", "Queue", "State", "Statistics"]
