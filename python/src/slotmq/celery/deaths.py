"""The caller of a task that becomes a dead letter gets FAILURE, with the reason that the dead letter has.

Celery stores no result of a task that it gives back to the broker, which other brokers deliver for ever.  Here a worker
that uses the last try of a task stores it, in whatever result backend the task has, and ends chords and chains."""
from celery import Celery, states
from celery.app.task import Context
from celery.exceptions import Reject, TaskError, WorkerLostError
from celery.signals import worker_init
from kombu.log import get_logger
from kombu.transport import virtual

from .qos import QoS

logger = get_logger(__name__)


def begin(sender: object = None, **_: object) -> None:
    """Celery calls it when a worker starts, before it has read the classes of requests."""
    from celery.worker.request import Request

    class Noting(Request):
        """Notes why Celery is about to give the message back."""

        def on_failure(self, exc_info: object, *args: object, **kwargs: object) -> None:
            raw = getattr(self.message, "_raw", None)
            if raw is not None:
                exception = getattr(exc_info, "exception", None)
                raw.cause = getattr(exception, "exc", exception)
            super().on_failure(exc_info, *args, **kwargs)

    app: Celery = getattr(sender, "app")
    if app.Task.Request == "celery.worker.request:Request":
        app.Task.Request = Noting
    QoS.teller = Teller(app)


class Teller:
    """Of the application of a worker."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def reason_of(self, message: virtual.Message) -> str:
        cause = message._raw.cause
        if isinstance(cause, Reject):
            return _text_of(cause.reason) if cause.reason else ""
        return f"{type(cause).__name__}: {_text_of(cause)}" if cause is not None else ""

    def tell(self, message: virtual.Message, reason: str) -> None:
        """Blocks: for the result backend, as when any result is stored."""
        task_id, name, cause = message.headers.get("id"), message.headers.get("task"), message._raw.cause
        if not task_id or not name:
            return
        if not isinstance(cause, WorkerLostError):
            cause = TaskError(reason) if isinstance(cause, Reject) else WorkerLostError(reason)
        tasks = self._app.tasks
        backend = tasks[name].backend if name in tasks else self._app.backend
        try:
            if backend.get_state(task_id) not in states.READY_STATES:
                backend.mark_as_failure(task_id, cause, request=_request_of(message),
                                        store_result=not message.headers.get("ignore_result"))
        except Exception:
            logger.exception("Task %s is a dead letter, and its failure could not be stored", task_id)


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return type(value).__name__


def _request_of(message: virtual.Message) -> Context:
    args, kwargs, embedded = message.payload
    properties = message.properties
    return Context({**message.headers, **(embedded or {}), "args": args, "kwargs": kwargs,
                    "reply_to": properties.get("reply_to"), "correlation_id": properties.get("correlation_id"),
                    "delivery_info": message.delivery_info, "properties": properties})


worker_init.connect(begin, weak=False)
