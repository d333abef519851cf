"""Bulk loads from Spark. Runs on a cluster where Django is not installed: it may import nothing of ours."""

from spark_ingest.session import register

__all__ = ["register"]
