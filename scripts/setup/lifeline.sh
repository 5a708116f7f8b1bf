#!/bin/sh
# lifeline.sh group|process COMMAND ARGUMENT...
# Becomes COMMAND, and ends it when its owner dies, however the owner dies: descriptor 3 is a pipe whose
# other end only the owner holds, and the kernel closes that end. "done" on the pipe means: owner alive, let be.
if [ "$1" = group ]; then target=0; else target=$$; fi
shift
(
  # Deaf itself, so that the signal to its own group leaves it alive to make sure.
  trap '' TERM INT HUP
  while read -r word <&3; do [ "$word" = done ] && exit 0; done
  kill -TERM "$target"
  sleep 2
  kill -KILL "$target"
) </dev/null >/dev/null 2>&1 &
exec "$@" 3<&-
