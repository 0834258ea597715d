#!/usr/bin/env bash
# Toad, a terminal client of the Agent Client Protocol, into .cache/toad. It needs Python 3.14, which Debian's stable suite
# lacks: the packages of a newer suite are unpacked into the folder with their own libc. Nothing is installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=$PWD/.cache/toad
toad=0.6.20 python=3.14
wanted="toad $toad, python $python"
[ "$(cat "$place/.stamp" 2>/dev/null)" = "$wanted" ] && exit 0

leave_out() {
  echo "==> Toad is left out: $1" >&2
  [ "${CI:-}" = true ] && exit 1
  exit 0
}
mirror=$(awk '/^URIs:/ {print $2; exit}' /etc/apt/sources.list.d/debian.sources 2>/dev/null || true)
[ -n "$mirror" ] && [ "$(uname -m)" = x86_64 ] || leave_out "it needs Debian's packages for x86_64"

echo "==> fetching Python $python (Debian) and Toad (PyPI)"
rm -rf "$place"
mkdir -p "$place"/apt/{lists/partial,cache/archives/partial} "$place/root"
: >"$place/apt/status"
apt=(-q -o "Dir::Etc::sourcelist=$place/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$place/apt/lists" -o "Dir::State::status=$place/apt/status" -o "Dir::Cache=$place/apt/cache"
  -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
fetch() { # from one suite, with everything it depends on
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$place/apt/sources.list"
  apt-get "${apt[@]}" update &&
    apt-get "${apt[@]}" --no-install-recommends --download-only -y install "python$python"
}
{ fetch forky || fetch sid; } >"$place/apt/log" 2>&1 || leave_out "no suite of Debian has Python $python"
for package in "$place"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$place/root"; done

# An absolute path that no process started by Toad inherits through its environment.
cat >"$place/python" <<END
#!/bin/sh
root=$place/root/usr
exec "\$root/lib64/ld-linux-x86-64.so.2" --library-path "\$root/lib/x86_64-linux-gnu" --argv0 "\$root/bin/python$python" \
  "\$root/bin/python$python" "\$@"
END
cat >"$place/toad" <<END
#!/bin/sh
exec "$place/python" -c 'import site; site.addsitedir("$place/site"); from toad.cli import main; main()' "\$@"
END
chmod +x "$place/python" "$place/toad"
python3 -m pip --disable-pip-version-check install --quiet --target "$place/site" --python-version "$python" \
  --ignore-requires-python --only-binary=:all: --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 "batrachian-toad==$toad"
"$place/toad" --version
rm -rf "$place/apt"
echo "$wanted" >"$place/.stamp"
