#!/usr/bin/env bash
# The TypeScript SDK of the Agent Client Protocol with its schema, and the clients acpx (npm) and acp-cli (crates.io), into
# .cache/acp. Pinned; the second time there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=.cache/acp
sdk=2.4.0 cli=0.3.1 acpx=0.1.15
wanted="sdk $sdk, acpx $acpx, acp-cli $cli"
[ "$(cat "$place/.stamp" 2>/dev/null)" = "$wanted" ] && exit 0

if ! command -v npm >/dev/null || ! command -v cargo >/dev/null; then
  echo "==> the ACP clients are left out: there is no npm or no cargo" >&2
  [ "${CI:-}" = true ] && exit 1
  exit 0
fi
echo "==> fetching the ACP SDK and acpx (npm)"
mkdir -p "$place"
echo '{"private": true, "type": "module"}' >"$place/package.json"
(cd "$place" && npm install --no-audit --no-fund --loglevel=error --save-exact \
  "@agentclientprotocol/sdk@$sdk" "acpx@$acpx")
echo "==> building acp-cli (cargo, about two minutes)"
cargo install --quiet --locked --debug --root "$place/cargo" "acp-cli@$cli"
echo "$wanted" >"$place/.stamp"
