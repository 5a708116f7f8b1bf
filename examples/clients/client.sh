#!/usr/bin/env sh
# A client with curl, from docs/openapi.json alone: it places an order, does not pay it, and reads it until it is closed.
# curl does not speak AMQP, so it hears of no event.
#
#     API_KEY=… sh client.sh
set -eu

url=${SERVICE_URL:-http://127.0.0.1:3000}
id="curl-$(date +%s)-$$"

call() {
  method=$1 path=$2
  shift 2
  curl --silent --show-error --fail-with-body --max-time 10 -X "$method" "$url$path" \
    -H "x-api-key: ${API_KEY:-}" -H 'content-type: application/json' "$@"
}

# Prints the problem if the service answers with one.
quietly() {
  if ! answer=$(call "$@"); then
    echo "$answer"
    exit 1
  fi
}

quietly PUT /inventory/curl-apple -d '{"add": 1}'
quietly POST /orders -d '{
  "id": "'"$id"'", "amount": 4200, "currency": "EUR", "paymentWindowMs": 1000, "graceMs": 0,
  "lines": [{"sku": "curl-apple", "quantity": 1, "unitAmount": 4200}]
}'
echo "$id is placed over HTTP"

tries=60
while [ "$tries" -gt 0 ]; do
  # The status of the order comes before those of its attempts.
  status=$(call GET "/orders/$id" | grep -o '"status":"[A-Z_]*"' | head -n 1 | cut -d '"' -f 4)
  if [ "$status" = CLOSED ]; then
    echo "$id is closed"
    exit 0
  fi
  tries=$((tries - 1))
  sleep 0.5
done
echo "$id is still $status" >&2
exit 1
