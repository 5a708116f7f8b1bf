"""What a user writes who has generated the package `order_timeout` from docs/openapi.json."""

import json
import os

import order_timeout

configuration = order_timeout.Configuration(host=os.environ["SERVICE_URL"])
# The key as a bearer token.
configuration.access_token = os.environ["API_KEY"]


def new_order(order_id):
    return order_timeout.NewOrder(
        id=order_id,
        amount=4200,
        currency="EUR",
        payment_window_ms=600_000,
        lines=[order_timeout.NewOrderLine(sku="python-apple", quantity=1, unit_amount=4200)],
    )


with order_timeout.ApiClient(configuration) as client:
    orders = order_timeout.OrdersApi(client)
    stock = order_timeout.StockApi(client).set_stock("python-apple", order_timeout.StockChange(on_hand=1))
    print(f"in stock: {stock.available}")
    placed = orders.place_order(new_order("generated-python"), idempotency_key="python-1")
    print(f"placed: {placed.status}, at {type(placed.expires_at).__name__}")
    try:
        orders.place_order(new_order("generated-python-2"))
    except order_timeout.ApiException as problem:
        print(f"refused: {problem.status} {json.loads(problem.body)['code']}")
    cancelled = orders.cancel_order("generated-python", cancellation=order_timeout.Cancellation(reason="a test"))
    print(f"cancelled: {cancelled.status}")
    print(f"history: {','.join(entry.to for entry in orders.read_history('generated-python'))}")
