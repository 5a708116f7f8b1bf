#!/usr/bin/env bash
# Fills the passwords into the definitions and hands over to the image's own entry point.
set -euo pipefail
umask 077

template=/etc/rabbitmq/order-timeout/definitions.template.json
target=/run/order-timeout/definitions.json
cookie=/var/lib/rabbitmq/.erlang.cookie
text=$(<"$template")

for name in RABBITMQ_DEFAULT_USER RABBITMQ_DEFAULT_PASS OT_SERVICE_PASSWORD OT_SENDER_PASSWORD OT_LISTENER_PASSWORD; do
  value=${!name:-}
  if [[ ! $value =~ ^[A-Za-z0-9_.-]{8,}$ && ! ($name == RABBITMQ_DEFAULT_USER && $value =~ ^[A-Za-z0-9_.-]+$) ]]; then
    echo "with-definitions.sh: set $name to at least 8 letters, digits, '_', '.' or '-'" >&2
    exit 1
  fi
  text=${text//"\${$name}"/$value}
done
printf '%s\n' "$text" > "$target"

# The nodes of a cluster must have the same one. RabbitMQ makes the file read-only, so it is replaced.
if [[ -n ${OT_ERLANG_COOKIE:-} ]]; then
  rm -f "$cookie"
  printf %s "$OT_ERLANG_COOKIE" > "$cookie"
fi

# The users come from the definitions; the image must not make one of its own besides.
unset RABBITMQ_DEFAULT_USER RABBITMQ_DEFAULT_PASS OT_ERLANG_COOKIE
exec docker-entrypoint.sh "$@"
