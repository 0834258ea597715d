#!/usr/bin/env bash
# A desktop notification when a prompt took long. Needs jq.
set -u
after=${NOTIFY_AFTER:-20}
began=$SECONDS

echo '{"type":"hello","name":"desktop-notify","version":"1.0.0","capabilities":["edition2"]}'

while IFS= read -r frame; do
  case $frame in
    '{"type":"hello_ack"'*)
      # an older zot has no features and none of these events
      [[ $frame == *'"features":'* ]] && echo '{"type":"subscribe","events":["prompt_start","prompt_end"]}'
      echo '{"type":"ready"}'
      ;;
    '{"type":"request"'*)
      jq -c '{type:"response", id, error:{code:"unknown_method", message:"unknown method \(.method)"}}' <<<"$frame"
      ;;
    '{"type":"event","event":"prompt_start"'*) began=$SECONDS ;;
    '{"type":"event","event":"prompt_end"'*)
      ((SECONDS - began < after)) && continue
      jq -c --argjson s "$((SECONDS - began))" \
        '{type:"notify", level:"info", desktop:true, message:"\(.data.status) after \($s) s"}' <<<"$frame"
      ;;
    '{"type":"shutdown"'*)
      echo '{"type":"shutdown_ack"}'
      exit 0
      ;;
  esac
done
