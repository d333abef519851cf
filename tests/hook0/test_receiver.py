import pytest
import requests


@pytest.mark.parametrize(
    "wanted",
    ["[]", "{", '{"nope": 1}', '{"times": "a"}', '{"times": 0}', '{"only": 5}', '{"headers": 5}', '{"status": 99999}',
     '{"status": "abc"}', '{"delay_ms": -1}'],
)  # fmt: skip
def test_nonsense_is_refused_and_the_receiver_goes_on(receiver, wanted):
    base = f"http://127.0.0.1:{receiver.port}"
    answer = requests.put(f"{base}/_behaviour/x", data=wanted, timeout=10)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert requests.post(f"{base}/x", timeout=10).status_code == 200


def test_it_does_as_it_is_told_for_so_many_times(receiver):
    base = f"http://127.0.0.1:{receiver.port}"
    assert requests.put(f"{base}/_behaviour/x", json={"status": 503, "times": 2}, timeout=10).status_code == 200
    assert [requests.post(f"{base}/x", timeout=10).status_code for _ in range(3)] == [503, 503, 200]
