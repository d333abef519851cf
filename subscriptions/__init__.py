"""Who wants what, and where it goes."""
