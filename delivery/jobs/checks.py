"""What is asked of a queue, before it is: a wrong parameter is told by its name."""

from collections.abc import Sequence

from rest_framework.serializers import ValidationError

from delivery.jobs import limits
from delivery.jobs.job import NewJob


def check_text(name: str, value: str, most: int, *, least: int = 1) -> str:
    """A text of so many characters, that PostgreSQL can keep."""
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise ValidationError({name: f"This must be a string of {least} to {most} characters."})
    if "\0" in value or (not value.isascii() and value.encode(errors="replace").decode() != value):
        raise ValidationError({name: "NUL characters and lone surrogates are not text."})
    return value


def check_id(value: str) -> str:
    """It is a part of addresses, too."""
    check_text("id", value, limits.ID_CHARACTERS)
    if "/" in value or value in {".", ".."} or not value.isprintable():
        raise ValidationError({"id": "Slashes and control characters are not allowed."})
    return value


def check_ids(values: Sequence[str]) -> list[str]:
    if isinstance(values, str):
        raise ValidationError({"ids": "This must be a list of ids."})
    return [check_text("ids", value, limits.ID_CHARACTERS) for value in values]


def check_tags(values: Sequence[str]) -> list[str]:
    """Without repeats: a job has a tag or has it not."""
    if isinstance(values, str) or len(values) > limits.TAGS:
        raise ValidationError({"tags": f"This must be a list of up to {limits.TAGS} strings."})
    return list(dict.fromkeys(check_text("tags", value, limits.TAG_CHARACTERS) for value in values))


def check_assignee(value: str) -> str:
    return check_text("assignee", value, limits.ASSIGNEE_CHARACTERS)


def check_number(name: str, value: int, bounds: tuple[int, int]) -> int:
    least, most = bounds
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValidationError({name: f"This must be a number from {least} to {most}."})
    return value


def check_document(name: str, value: bytes) -> bytes:
    if not isinstance(value, bytes) or len(value) > limits.DOCUMENT_BYTES:
        raise ValidationError({name: f"This must be up to {limits.DOCUMENT_BYTES} bytes. Store a reference instead."})
    return value


def check_new(job: NewJob, *, is_fifo: bool) -> None:
    check_id(job.id)
    check_text("type", job.type, limits.TYPE_CHARACTERS, least=0)
    check_document("definition", job.definition)
    check_tags(job.tags)
    check_number("priority", job.priority, limits.PRIORITIES)
    if job.retry_limit is not None:
        check_number("retry_limit", job.retry_limit, (0, limits.RETRIES))
    if job.key is not None:
        check_text("key", job.key, limits.KEY_CHARACTERS)
    if is_fifo and job.key is None:
        raise ValidationError({"key": "This queue is FIFO: each of its jobs needs a key, which says what is in order."})
    if job.key is not None and not is_fifo:
        raise ValidationError({"key": "This queue is not FIFO, so its jobs have no keys. Leave it out."})
