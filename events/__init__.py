"""An event comes in."""
