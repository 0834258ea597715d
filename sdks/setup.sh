#!/bin/sh
# Readies the author SDKs: Node packages and the built TypeScript SDK, and a warm Go build cache.
# Says what it does; the second time there is nothing to do. A language that is not installed is named and skipped.
set -eu
cd "$(dirname "$0")"

newer() { # newer STAMP FILE...: is any of the files newer than the stamp?
  stamp=$1
  shift
  [ ! -e "$stamp" ] || [ -n "$(find "$@" -newer "$stamp" -print -quit)" ]
}

typescript() {
  cd typescript
  if newer node_modules/.stamp package-lock.json; then
    echo "==> typescript sdk: installing compiler and tsx"
    npm ci --no-audit --no-fund --loglevel=error
    touch node_modules/.stamp
  fi
  if newer dist/.stamp src tsconfig.json tsconfig.build.json node_modules/.stamp; then
    echo "==> typescript sdk: building"
    npm run --silent build
    touch dist/.stamp
  fi
  cd ..
}

golang() {
  cd go
  echo "==> go sdk: building"
  go build ./...
  cd ..
}

if command -v npm >/dev/null; then typescript; else echo "==> typescript sdk: skipped, there is no npm"; fi
if command -v go >/dev/null; then golang; else echo "==> go sdk: skipped, there is no go"; fi
