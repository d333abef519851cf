"""Metrics of everything below; nobody imports it."""
