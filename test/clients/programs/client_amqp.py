"""What a user writes who has generated the module `messages` from docs/messages."""

import json
import os

import messages
import pika

PREFIX = "order-timeout.v1"

connection = pika.BlockingConnection(pika.URLParameters(os.environ["RABBITMQ_URL"]))
channel = connection.channel()
channel.confirm_delivery()
queue = channel.queue_declare("", exclusive=True).method.queue
channel.queue_bind(queue, f"{PREFIX}.events", "order.cancelled")

commands = {
    "order.placed": messages.order_placed_command_to_dict(
        messages.order_placed_command_from_dict(
            {"id": "generated-messages", "amount": 4200, "currency": "EUR", "lines": []}
        )
    ),
    "order.cancelled": messages.order_cancelled_command_to_dict(
        messages.OrderCancelledCommand(order_id="generated-messages", reason="a test")
    ),
}
for name, command in commands.items():
    channel.basic_publish(f"{PREFIX}.commands", name, json.dumps(command), pika.BasicProperties(delivery_mode=2))

for method, _, body in channel.consume(queue, auto_ack=True, inactivity_timeout=30):
    if method is None:
        raise SystemExit("no event came")
    event = messages.order_cancelled_event_from_dict(json.loads(body))
    if event.order_id == "generated-messages":
        print(f"{event.type.value}: {event.amount} {event.currency}, {event.reason}, by {event.cause.value}")
        break
connection.close()
