#!/usr/bin/env bash
# __NAME__: an extension for zot. Try it with `zot --ext .`; test it with `bash test.sh`. Needs jq.
# One frame is one line of JSON: what zot says comes on stdin, what we say goes to stdout, stderr is our log.
set -u

# Who we are and what we offer. Nothing of it depends on zot, so it can be said at once.
cat <<'FRAMES'
{"type":"hello","name":"__NAME__","version":"0.1.0","capabilities":["commands","tools"]}
{"type":"register_command","name":"__NAME__","description":"count the words of a text"}
{"type":"register_tool","name":"__TOOL__","description":"Count the words and characters of a text.","schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}
FRAMES
# zot:guard
echo '{"type":"subscribe","intercept":["tool_call"]}'
# zot:end
echo '{"type":"ready"}'

count='def count: "\([splits("\\s+") | select(. != "")] | length) words, \(length) characters";'

# zot writes the type first and no spaces, so a frame can be told by how it begins.
while IFS= read -r frame; do
  case $frame in
    '{"type":"command_invoked",'*)
      jq -c "$count"'{type:"command_response", id, action:"display",
        display: (if (.args // "") == "" then "usage: /__NAME__ TEXT" else (.args | count) end)}' <<<"$frame"
      ;;
    '{"type":"tool_call",'*)
      jq -c "$count"'(.args.text | type == "string") as $fine |
        {type:"tool_result", id, is_error: ($fine | not),
         content:[{type:"text", text:(if $fine then (.args.text | count) else "text must be a string" end)}]}' <<<"$frame"
      ;;
    # zot:guard
    '{"type":"event_intercept",'*) # asked before every tool call
      jq -c '(.tool_name == "bash" and (.tool_args.command // "" | tostring | contains("rm -rf"))) as $bad |
        {type:"event_intercept_response", id, block:$bad, reason:(if $bad then "refused by __NAME__: rm -rf" else "" end)}' \
        <<<"$frame"
      ;;
    # zot:end
    '{"type":"shutdown"'*)
      echo '{"type":"shutdown_ack"}'
      exit 0
      ;;
  esac
done
