import pytest
from django.db import connection

from subscriptions.matching import like_pattern, matches


@pytest.mark.parametrize("name", ["a.b.c", "a.b.*", "a.*", "a_b.*", "a.b%", "a\\.*", "a.b_c"])
@pytest.mark.parametrize("event_type", ["a.b.c", "a.b.d", "axb.c.d", "a_b.c.d", "a.b%", "a.bxx", "a\\.b.c", "a.b_c"])
@pytest.mark.django_db
def test_sql_finds_by_the_pattern_what_matches(name, event_type):
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::text LIKE %s", [event_type, like_pattern(name)])
        assert cursor.fetchone() == (matches(event_type, [name]),)
