#!/usr/bin/env bash
# The official suite of the Model Context Protocol, the Node it needs, and three real servers, into .cache/mcp.
# Pinned: npm takes an older suite without a word when its Node is too old. The second time there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=.cache/mcp
node=24.21.0 suite=0.2.0-alpha.12 files=2026.8.31 servers=2026.10.19
wanted="node $node, suite $suite, filesystem $files, git and time $servers"
[ "$(cat "$place/.stamp" 2>/dev/null)" = "$wanted" ] && exit 0

if ! command -v npm >/dev/null; then
  echo "==> the MCP suite and servers are left out: there is no npm" >&2
  [ "${CI:-}" = true ] && exit 1
  exit 0
fi
quiet="--no-audit --no-fund --loglevel=error"
mkdir -p "$place/node" "$place/suite"
echo "==> fetching Node $node for the MCP suite"
echo '{"private": true}' >"$place/node/package.json"
(cd "$place/node" && npm install $quiet --save-exact "node@$node")
echo "==> fetching the MCP suite and a server (npm)"
echo '{"private": true}' >"$place/suite/package.json"
(cd "$place/suite" && PATH="$PWD/../node/node_modules/.bin:$PATH" npm install $quiet --save-exact \
  "@modelcontextprotocol/conformance@$suite" "@modelcontextprotocol/server-filesystem@$files")
echo "==> fetching two MCP servers (PyPI)"
"${PYTHON:-python3}" -m venv "$place/servers"
"$place/servers/bin/python" -m pip install --quiet --disable-pip-version-check \
  "mcp-server-git==$servers" "mcp-server-time==$servers"
echo "$wanted" >"$place/.stamp"
