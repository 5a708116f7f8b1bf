#!/usr/bin/env bash
# Fills the passwords into the definitions and hands over to the image's own entry point.
set -euo pipefail

template=/etc/rabbitmq/order-timeout/definitions.template.json
target=/etc/rabbitmq/order-timeout/definitions.json
text=$(<"$template")

for name in RABBITMQ_DEFAULT_USER RABBITMQ_DEFAULT_PASS OT_SERVICE_PASSWORD OT_SENDER_PASSWORD OT_LISTENER_PASSWORD; do
  value=${!name:-}
  if [[ ! $value =~ ^[A-Za-z0-9_.-]{8,}$ && ! ($name == RABBITMQ_DEFAULT_USER && $value =~ ^[A-Za-z0-9_.-]+$) ]]; then
    echo "with-definitions.sh: set $name to at least 8 letters, digits, '_', '.' or '-'" >&2
    exit 1
  fi
  text=${text//"\${$name}"/$value}
done

umask 077
printf '%s\n' "$text" > "$target"
chown rabbitmq:rabbitmq "$target"
# The users come from the definitions; the image must not make one of its own besides.
unset RABBITMQ_DEFAULT_USER RABBITMQ_DEFAULT_PASS
exec docker-entrypoint.sh "$@"
