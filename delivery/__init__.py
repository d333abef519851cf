"""The queue and the sending: dispatch, claim, send, record, retry."""
