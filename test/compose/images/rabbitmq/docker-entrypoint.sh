#!/bin/bash
# The part of the image's entry point that docker-compose.yml uses.
set -euo pipefail

if [ "$(id -u)" = 0 ]; then
  find /var/lib/rabbitmq \! -user rabbitmq -exec chown rabbitmq '{}' +
  exec gosu rabbitmq "$0" "$@"
fi
exec "$@"
