#!/bin/sh
# Passes the message as a command-line argument, which has a limit.
# breaks: interception-odd-input
printf '%s\n' '{"type":"hello","name":"sample"}' \
  '{"type":"subscribe","intercept":["assistant_message"]}' '{"type":"ready"}'
while IFS= read -r frame; do
  id=$(printf '%s' "$frame" | jq -r '.id // empty')
  case $frame in
    '{"type":"event_intercept"'*)
      text=$(printf '%s' "$frame" | jq -r .text)
      jq -cn --unbuffered --arg id "$id" --arg text "$text" '{type:"event_intercept_response",id:$id,replace_text:$text}'
      ;;
    '{"type":"shutdown"'*) exit 0 ;;
  esac
done
