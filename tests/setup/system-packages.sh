#!/usr/bin/env bash
# What the tests need from the system: installed where we may (root on Debian), named in one line where we may not.
set -euo pipefail

declare -A package_of=(
  [git]=git [jq]=jq [tmux]=tmux [rg]=ripgrep [perl]=perl [ps]=procps [setsid]=util-linux [node]=nodejs [npm]=npm [go]=golang-go [chromium]=chromium
  [cc]="gcc libc6-dev" [zsh]=zsh [fish]=fish [groff]=groff-base [bwrap]=bubblewrap
)

missing=()
for command in "${!package_of[@]}"; do
  command -v "$command" >/dev/null 2>&1 || missing+=(${package_of[$command]})
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "==> installing system packages for the tests: ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  exit 0
fi

echo "==> some tests need packages this machine lacks; install them with your package manager: ${missing[*]}" >&2
[ "${CI:-}" = true ] && exit 1
exit 0
