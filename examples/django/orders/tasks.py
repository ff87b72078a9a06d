"""Tasks of this part of the project, which Celery finds by itself."""
from celery import shared_task


@shared_task
def confirm(order):
    return f"order {order} is confirmed"
