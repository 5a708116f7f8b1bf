"""A client in Python, from docs/openapi.json and docs/asyncapi.json alone: it places one order over HTTP and one over
AMQP, pays neither, and waits until it hears that both are closed. It needs pika (Debian: python3-pika).

    API_KEY=... python3 client.py
"""

import json
import os
import sys
import time
import urllib.request
import uuid

import pika

SERVICE_URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:3000")
RABBITMQ_URL = os.environ.get("RABBITMQ_URL", "amqp://127.0.0.1")
PREFIX = os.environ.get("RABBITMQ_PREFIX", "order-timeout.v1")
API_KEY = os.environ.get("API_KEY", "")
WAIT_SECONDS = 30


def call(method, path, body):
    request = urllib.request.Request(
        SERVICE_URL + path,
        method=method,
        headers={"x-api-key": API_KEY, "content-type": "application/json"},
        data=json.dumps(body).encode(),
    )
    # Raises HTTPError for a problem.
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def order(order_id):
    return {
        "id": order_id,
        "amount": 4200,
        "currency": "EUR",
        "paymentWindowMs": 1000,
        "graceMs": 0,
        "lines": [{"sku": "python-apple", "quantity": 1, "unitAmount": 4200}],
    }


def hear_of_closing(channel, queue, waiting):
    ends_at = time.monotonic() + WAIT_SECONDS
    # Without a message for a second, it yields nothing.
    for method, _, body in channel.consume(queue, auto_ack=True, inactivity_timeout=1):
        event = json.loads(body) if method else {}
        # Events may arrive twice, and are about the orders of others too.
        if event.get("orderId") in waiting:
            waiting.remove(event["orderId"])
            print(f"{event['orderId']} is closed: {event['reason']}", flush=True)
        if not waiting:
            return
        if time.monotonic() > ends_at:
            sys.exit(f"not closed in time: {', '.join(waiting)}")


def main():
    connection = pika.BlockingConnection(pika.URLParameters(RABBITMQ_URL))
    channel = connection.channel()
    channel.confirm_delivery()

    # Listen first, so that no event is missed.
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(queue, f"{PREFIX}.events", "order.closed")

    over_http, over_amqp = f"python-http-{uuid.uuid4()}", f"python-amqp-{uuid.uuid4()}"
    call("PUT", "/inventory/python-apple", {"add": 2})
    call("POST", "/orders", order(over_http))
    print(f"{over_http} is placed over HTTP", flush=True)

    persistent = pika.BasicProperties(delivery_mode=2, app_id="python-example")
    channel.basic_publish(f"{PREFIX}.commands", "order.placed", json.dumps(order(over_amqp)), persistent)
    print(f"{over_amqp} is sent over AMQP", flush=True)

    hear_of_closing(channel, queue, {over_http, over_amqp})
    connection.close()


main()
