"""What a user writes who has generated the module `messages` from docs/messages."""

import json
import os
import time

import messages
import pika

PREFIX = "order-timeout.v1"

connection = pika.BlockingConnection(pika.URLParameters(os.environ["RABBITMQ_URL"]))
channel = connection.channel()
channel.confirm_delivery()
queue = channel.queue_declare("", exclusive=True).method.queue
channel.queue_bind(queue, f"{PREFIX}.events", "order.cancelled")

answers = {}
channel.basic_consume(
    "amq.rabbitmq.reply-to",
    lambda _channel, _method, properties, body: answers.update({properties.correlation_id: json.loads(body)}),
    auto_ack=True,
)

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
    properties = pika.BasicProperties(delivery_mode=2, reply_to="amq.rabbitmq.reply-to", correlation_id=name)
    channel.basic_publish(f"{PREFIX}.commands", name, json.dumps(command), properties)

ends_at = time.monotonic() + 30
while len(answers) < len(commands) and time.monotonic() < ends_at:
    connection.process_data_events(time_limit=1)
placed = messages.order_placed_answer_from_dict(answers["order.placed"])
cancelled = messages.order_cancelled_answer_from_dict(answers["order.cancelled"])
print(f"{placed.outcome.value}: {placed.order.status.value}, {cancelled.outcome.value}: {cancelled.order.status.value}")

for method, _, body in channel.consume(queue, auto_ack=True, inactivity_timeout=30):
    if method is None:
        raise SystemExit("no event came")
    event = messages.order_cancelled_event_from_dict(json.loads(body))
    if event.order_id == "generated-messages":
        print(f"{event.type.value}: {event.amount} {event.currency}, {event.reason}, by {event.cause.value}")
        break
connection.close()
