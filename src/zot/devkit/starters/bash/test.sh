#!/usr/bin/env bash
# Plays zot against this extension, through the same pipe. Run: bash test.sh
set -u
cd "$(dirname "$0")" || exit 1

answers=$(bash main.sh <<'FRAMES'
{"type":"hello_ack","protocol_version":1}
{"type":"tool_call","id":"1","name":"__TOOL__","args":{"text":"one two three"}}
{"type":"shutdown"}
FRAMES
)

failed=0
for expected in '"type":"hello"' '"type":"register_command"' '"type":"register_tool"' \
  '3 words, 13 characters' '"type":"shutdown_ack"'; do
  if grep -qF -- "$expected" <<<"$answers"; then
    echo "ok      $expected"
  else
    echo "MISSING $expected"
    failed=1
  fi
done
exit $failed
