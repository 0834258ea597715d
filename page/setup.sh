#!/bin/sh
# Readies what the page is built with: esbuild, the TypeScript compiler, the libraries; axe-core and xterm.js for the tests.
# The second time there is nothing to do. Without npm it says so: the built page is in the repository.
set -eu
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
  echo "==> page: skipped, there is no npm"
elif [ ! -e node_modules/.stamp ] || [ package-lock.json -nt node_modules/.stamp ]; then
  echo "==> page: installing esbuild, the compiler and the libraries"
  npm ci --no-audit --no-fund --loglevel=error
  touch node_modules/.stamp
fi
