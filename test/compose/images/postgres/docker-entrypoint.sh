#!/bin/bash
# The part of the image's entry point that docker-compose.yml uses.
set -euo pipefail
data=/var/lib/postgresql/data

if [ "$(id -u)" = 0 ]; then
  chown -R postgres "$data" /var/run/postgresql
  exec gosu postgres "$0" "$@"
fi
chmod 700 "$data"
if [ ! -s "$data/PG_VERSION" ]; then
  initdb --encoding=UTF8 --locale=C.UTF-8 -U "$POSTGRES_USER" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") --auth-host=scram-sha-256 -D "$data"
  echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
  pg_ctl -D "$data" -o "-c listen_addresses=''" -w start
  createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -D "$data" -m fast -w stop
fi
exec "$@" -c listen_addresses='*' -D "$data"
