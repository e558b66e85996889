#!/bin/sh
# Asks Tether to look at one Service now, and waits for what comes of it.
#
#   TETHER_URL=http://tether-lookup.tether:8480 TETHER_TRIGGER_TOKEN=… sh reconcile.sh shop/web
#
# The token goes to curl on its standard input: a command line can be seen by every user of the machine.
set -eu
printf 'header = "Authorization: Bearer %s"\n' "$TETHER_TRIGGER_TOKEN" |
  curl --config - --silent --show-error --fail-with-body --max-time 90 \
    --retry 5 --retry-connrefused \
    --header 'Content-Type: application/json' \
    --data "{\"kind\":\"service\",\"key\":\"$1\"}" \
    "$TETHER_URL/v1/reconcile?wait=true&timeout=60"
