#!/usr/bin/env bash
# zot rpc from the shell, with jq.
#
#     ./client.sh "list the files" [flags for zot]
#
# Ctrl-C aborts the prompt. With --no-yolo it asks you before each tool call.
set -u
[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prompt=$1
shift

# A session of its own (setsid, where there is one): Ctrl-C reaches us alone, and we say "abort".
coproc zot { exec $(command -v setsid) zot rpc "$@"; }
exec 3<&"${zot[0]}" 4>&"${zot[1]}"
pid=$zot_PID

send() { jq -nc "$@" >&4; }
trap 'echo "{\"type\":\"abort\"}" >&4' INT

send --arg token "${ZOTCORE_RPC_TOKEN:-}" '{type: "hello", token: $token, capabilities: ["approvals"]}'
send --arg prompt "$prompt" '{id: "1", type: "prompt", message: $prompt}' # no need to wait for the answer to hello

code=1 failed=0 usage="nothing used"
while true; do
  IFS= read -r line <&3 || { [ $? -gt 128 ] && continue; break; } # above 128: a signal, not the end
  case $line in
    '{"type":"text_delta"'*) jq -j '.delta' <<<"$line" ;;
    '{"type":"tool_call"'*) jq -r '"[\(.name)] \(.args | tojson)"' <<<"$line" >&2 ;;
    '{"type":"tool_result"'*) jq -r 'select(.is_error) | "[tool failed]"' <<<"$line" >&2 ;;
    '{"type":"ext_notify"'*) jq -r '"[\(.extension)] \(.message)"' <<<"$line" >&2 ;;
    '{"type":"turn_end","stop":"aborted"'*) echo "[aborted]" >&2 ;;
    '{"type":"usage"'*) usage=$(jq -r '.cumulative | "\(.input) in, \(.output) out, $\(.cost_usd)"' <<<"$line") ;;
    '{"type":"approval_request"'*)
      jq -j '"allow \(.name): \(.preview)? [y/N] "' <<<"$line" >&2
      answer=
      read -r answer
      [ "$answer" = y ] && decision=once || decision=deny
      send --argjson asked "$line" --arg decision "$decision" \
        '{type: "approve", request_id: $asked.request_id, decision: $decision}'
      ;;
    '{"type":"response"'*'"success":false'*) jq -r '"[\(.command)] \(.error)"' <<<"$line" >&2; break ;;
    '{"type":"error"'*) jq -r '"[error] \(.message)"' <<<"$line" >&2; failed=1 ;;
    '{"type":"done"'*) echo; echo "[$usage]" >&2; code=$failed; break ;;
  esac
done
exec 4>&- 3<&- # zot exits when its input ends
eval "exec ${zot[1]-}>&- ${zot[0]-}<&-" 2>/dev/null
wait "$pid" 2>/dev/null
exit "$code"
