"""What the package says of the C interface, against the headers that it was compiled with."""
import dataclasses

import pytest
import slotmq
from slotmq._native import ffi, lib
from slotmq.errors import error_of

RECORDS = [
    (slotmq.Message, "smq_message", {"struct_size", "header_count"}),
    (slotmq.StoredMessage, "smq_message_info", {"struct_size", "header_count", "try_count"}),
    (slotmq.Try, "smq_try", set()),
    (slotmq.Stats, "smq_stats", {"struct_size"}),
    (slotmq.Metrics, "smq_metrics", {"struct_size"}),
    (slotmq.Health, "smq_health", {"struct_size"}),
    (slotmq.TopicReport, "smq_topic_report", {"struct_size"}),
]


@pytest.mark.parametrize("record, struct, hidden", RECORDS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_record_has_all_fields_of_its_struct(record, struct, hidden):
    fields = {name for name, _ in ffi.typeof(struct).fields}
    names = getattr(record, "_fields", None) or [field.name for field in dataclasses.fields(record)]
    assert set(names) == fields - hidden


@pytest.mark.parametrize("name, kind", [
    ("NO_TOPIC", slotmq.UsageError), ("FULL", slotmq.RetryError), ("UNKNOWN", slotmq.UnknownError),
    ("FENCED", slotmq.LostError), ("CLOSED", slotmq.FatalError), ("DUPLICATE", slotmq.UsageError)])
def test_a_status_has_the_exception_of_its_class(name, kind):
    error = error_of(getattr(lib, f"SMQ_{name}"))
    assert type(error) is kind and error.name == name and str(error)


def test_every_failure_has_a_class():
    statuses = [value for name, value in ffi.typeof("smq_status").relements.items() if name != "SMQ_OK"]
    assert len(statuses) > 20
    assert all(type(error_of(status)) is not slotmq.Error for status in statuses)
