"""What the package says of the C interface, against the headers that it was compiled with."""
import copy
import dataclasses
import pickle

import pytest
import slotmq
from slotmq._native import ffi, lib
from slotmq.errors import CLASSES, error_of

RECORDS = [
    (slotmq.Message, "smq_message", {"struct_size", "header_count"}),
    (slotmq.StoredMessage, "smq_message_info", {"struct_size", "header_count", "try_count"}),
    (slotmq.Try, "smq_try", set()),
    (slotmq.Stats, "smq_stats", {"struct_size"}),
    (slotmq.Metrics, "smq_metrics", {"struct_size"}),
    (slotmq.Health, "smq_health", {"struct_size"}),
    (slotmq.TopicReport, "smq_topic_report", {"struct_size"}),
    (slotmq.Schedule, "smq_schedule", {"struct_size"}),
    (slotmq.StoredSchedule, "smq_schedule_info", {"struct_size"}),
]


@pytest.mark.parametrize("record, struct, hidden", RECORDS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_record_has_all_fields_of_its_struct(record, struct, hidden):
    fields = {name for name, _ in ffi.typeof(struct).fields}
    names = getattr(record, "_fields", None) or [field.name for field in dataclasses.fields(record)]
    assert set(names) == fields - hidden


STATUSES = {name[len("SMQ_"):]: value for name, value in ffi.typeof("smq_status").relements.items() if name != "SMQ_OK"}


@pytest.mark.parametrize("name", STATUSES)
def test_a_status_has_an_exception_of_its_own(name):
    """Exported, with the name of the status, below that of its class."""
    error = error_of(STATUSES[name])
    kind = CLASSES[lib.smq_status_class(STATUSES[name])]
    cause = "".join(part.title() for part in name.split("_"))
    assert type(error) is (kind if name == "UNKNOWN" else getattr(slotmq, cause)) and isinstance(error, kind)
    assert error.name == name and str(error)


def test_a_status_of_a_newer_library_has_an_exception():
    assert type(error_of(-1000)) is slotmq.FatalError


ERRORS = [error_of(lib.SMQ_NO_TOPIC, "no topic x"), slotmq.AnsweredError("again"), slotmq.Retry("why", delay_ms=5),
          slotmq.Reject("why"), slotmq.Release(delay_ms=5)]


@pytest.mark.parametrize("copied", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy,
                                    lambda error: type(error)(*error.args)], ids=["pickle", "copy", "arguments"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_exception_can_be_copied(error, copied):
    """By its arguments, as Celery does with JSON."""
    found = copied(error)
    assert (type(found), str(found), vars(found)) == (type(error), str(error), vars(error))
