"""A web service: POST /orders sends a message, and the same event loop handles what comes.

usage: SLOTMQ_REDIS=127.0.0.1:6379 uvicorn --app-dir examples/python web:app

A service that is busy handles its messages in processes of their own: worker.py.
"""
import asyncio
import contextlib
import os

import fastapi
import slotmq

handled = []  # what GET /orders shows


async def consume(consumer):
    async for delivery in consumer:
        try:
            handled.append({"customer": delivery.key.decode(), "order": delivery.body.decode()})
            delivery.done()
        except ValueError as error:
            delivery.reject(f"no UTF-8: {error}")


@contextlib.asynccontextmanager
async def lifespan(app):
    """Servers that fork do so before: what a parent has opened is of no use to a child."""
    with slotmq.Client(os.environ["SLOTMQ_REDIS"]) as client:
        client.create("orders", shared=True)
        with client.producer() as app.state.producer, client.consumer("orders") as consumer:
            consuming = asyncio.create_task(consume(consumer))
            yield
            consumer.stop()
            await consuming


app = fastapi.FastAPI()
app.router.lifespan_context = lifespan  # from FastAPI 0.93 on also FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=202)
async def order(customer: str, what: str):
    try:
        receipt = await app.state.producer.send_async("orders", what, key=customer)
    except slotmq.UsageError as error:
        raise fastapi.HTTPException(400, str(error)) from error
    except slotmq.Error as error:
        raise fastapi.HTTPException(503, str(error)) from error
    return {"id": receipt.id.decode()}


@app.get("/orders")
async def orders():
    return handled
