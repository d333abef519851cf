"""Django's PostgreSQL, with one question less before each request."""
