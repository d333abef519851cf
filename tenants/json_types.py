"""JSON says of what type a value is. A serializer would take 1 for the text "1", and "no" for false."""

from collections.abc import Iterable, Mapping
from typing import Any

from rest_framework import serializers

_TYPES: tuple[tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], ...], type, str], ...] = (
    ((serializers.CharField, serializers.UUIDField, serializers.ChoiceField), str, "This must be a string."),
    ((serializers.BooleanField,), bool, "This must be true or false."),
)


def require_types(field: Any, value: Any) -> None:
    """Go on only if no value of a body is of a type that its field would have to convert."""
    if complaints := _complaints(field, value):
        raise serializers.ValidationError(complaints)


def _complaints(field: Any, value: Any) -> Any:
    """What is wrong, in the shape of the value; what is not even of that shape is left to the field."""
    if isinstance(field, serializers.Serializer) and isinstance(value, Mapping):
        return _of_parts((name, each, value[name]) for name, each in field.fields.items() if name in value)
    if isinstance(field, serializers.DictField) and isinstance(value, Mapping):
        return _of_parts((key, field.child, each) for key, each in value.items())
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        return _of_parts((str(place), field.child, each) for place, each in enumerate(value))
    if isinstance(field, serializers.IntegerField | serializers.FloatField) and isinstance(value, bool | str):
        return ["This must be a number."]
    for kinds, kind, complaint in _TYPES:
        if isinstance(field, kinds) and value is not None and not isinstance(value, kind):
            return [complaint]
    return None


def _of_parts(parts: Iterable[tuple[str, Any, Any]]) -> dict[str, Any]:
    found = ((name, _complaints(field, value)) for name, field, value in parts)
    return {name: complaints for name, complaints in found if complaints}
