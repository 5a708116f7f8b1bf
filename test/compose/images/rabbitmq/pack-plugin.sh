#!/bin/bash
set -euo pipefail
cd /build
name=rabbitmq_delayed_message_exchange
release=$name-4.2.0
mkdir -p "$release/ebin"
ERL_LIBS=$(echo /usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins) erlc -DMESSAGE_CONTAINERS -o "$release/ebin" src/*.erl
sed -e "s/rabbitmq_delayed_exchange_stand_in/$name/" -e 's/{vsn, "[^"]*"}/{vsn, "4.2.0"}/' \
  src/*.app.src > "$release/ebin/$name.app"
erl -noshell -eval "{ok, _} = zip:create(\"plugin.ez\", [\"$release\"]), halt()."
