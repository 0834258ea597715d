#!/usr/bin/env bash
# Blacks out keys and tokens before the user sees a message. Needs jq. The transcript keeps the original.
set -u

cat <<'FRAMES'
{"type":"hello","name":"redactor","version":"1.0.0","capabilities":["events"]}
{"type":"subscribe","intercept":["assistant_message"]}
{"type":"ready"}
FRAMES

redact='
  gsub("sk-[A-Za-z0-9_-]{16,}"; "[redacted key]")
  | gsub("AKIA[0-9A-Z]{16}"; "[redacted key]")
  | gsub("gh[pousr]_[A-Za-z0-9]{36,}"; "[redacted token]")
  | gsub("eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}"; "[redacted token]")
  | gsub("-----BEGIN [A-Z ]*PRIVATE KEY-----[\\s\\S]*?-----END [A-Z ]*PRIVATE KEY-----"; "[redacted private key]")'

# What cannot be examined is not shown.
withhold() {
  [[ $1 =~ \"id\":\"([^\"]*)\" ]] &&
    printf '{"type":"event_intercept_response","id":"%s","block":true,"reason":"redactor could not read the message"}\n' \
      "${BASH_REMATCH[1]}"
}

while IFS= read -r frame; do
  case $frame in
    '{"type":"event_intercept",'*)
      jq -c "(.text | $redact) as \$clean | {type:\"event_intercept_response\", id}
        + (if \$clean == .text then {} else {replace_text: \$clean} end)" <<<"$frame" || withhold "$frame"
      ;;
    '{"type":"shutdown"'*)
      echo '{"type":"shutdown_ack"}'
      exit 0
      ;;
  esac
done
