"""What JSON says of a value's type is what counts."""

import pytest
from django.http import QueryDict
from rest_framework import serializers

from tenants.fields import checked


class Part(serializers.Serializer):
    text = serializers.CharField(allow_null=True)


class Body(serializers.Serializer):
    text = serializers.CharField(required=False)
    identifier = serializers.UUIDField(required=False)
    choice = serializers.ChoiceField(choices=["1"], required=False)
    whole = serializers.IntegerField(required=False)
    real = serializers.FloatField(required=False)
    yes = serializers.BooleanField(required=False)
    part = Part(required=False)
    texts = serializers.ListField(child=serializers.CharField(), required=False)
    headers = serializers.DictField(child=serializers.CharField(), required=False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", 1),
        ("text", True),
        ("identifier", 1),
        ("choice", 1),
        ("whole", "1"),
        ("whole", True),
        ("real", "1.5"),
        ("real", False),
        ("yes", "true"),
        ("yes", 1),
        ("yes", 0),
        ("part", {"text": 1}),
        ("texts", ["a", 1]),
        ("headers", {"a": 1}),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_field(field, value):
    with pytest.raises(serializers.ValidationError) as refused:
        checked(Body, {field: value})
    assert set(refused.value.detail) == {field}


@pytest.mark.parametrize(
    "body",
    [
        {"text": "1", "choice": "1", "whole": 1, "real": 1, "yes": False},
        {"whole": 1.0, "real": 1.5, "part": {"text": None}, "texts": ["a"], "headers": {"a": "b"}, "unknown": 1},
        {},
    ],
)
def test_what_is_of_its_type_is_taken(body):
    assert checked(Body, body).items() <= body.items()


@pytest.mark.parametrize("body", [[], 1, "x", None, {"part": []}, {"texts": {}}, {"headers": 1}])
def test_what_is_not_even_of_the_shape_is_refused_by_the_fields_themselves(body):
    with pytest.raises(serializers.ValidationError):
        checked(Body, body)


def test_in_a_query_string_everything_is_text():
    assert checked(Body, QueryDict("whole=1&yes=true&text=1")) == {"whole": 1, "yes": True, "text": "1"}
