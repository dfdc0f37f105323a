#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Makes this checkout runnable: system packages, .venv, the C core. Idempotent, and
# quick when nothing has changed.
#
#   scripts/setup.sh          what `pyrr` itself and the demo need
#   scripts/setup.sh --dev    and what tests and linters need
#
# Missing Debian/Ubuntu packages are installed when run as root; otherwise the exact
# command is printed. Exit status 3: something is missing on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }

give_up() { # fact, hint
	printf 'setup: %s\nhint: %s\n' "$1" "$2" >&2
	exit 3
}

extras=""
case "${1:-}" in
--dev) extras="[dev]" ;;
"") ;;
*) give_up "unknown option $1" "scripts/setup.sh [--dev]" ;;
esac

[ "$(uname -sm)" = "Linux x86_64" ] ||
	give_up "pyrr runs on 64-bit x86 Linux; this is $(uname -sm)" "use such a machine"

# ---------------------------------------------------------------- system packages

packages=(gcc libc6-dev libzstd-dev zlib1g-dev libzydis-dev libzycore-dev gdb)
if [ -n "$extras" ]; then # programs that the tests record
	packages+=(g++ make git xz-utils sqlite3 perl gawk file procps)
fi

# The first Python >= 3.11 that can make virtual environments and has its C headers.
find_python() {
	local candidate
	for candidate in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
		if "$candidate" - 2>/dev/null <<-'END'; then
			import ensurepip, os, sys, sysconfig, venv
			header = os.path.join(sysconfig.get_path("include"), "Python.h")
			sys.exit(not (sys.version_info >= (3, 11) and os.path.exists(header)))
		END
			command -v "$candidate"
			return
		fi
	done
	return 1
}

missing_packages() {
	local name
	for name in "${packages[@]}"; do
		dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed ||
			printf '%s ' "$name"
	done
}

install_packages() {
	local install="apt-get install -y --no-install-recommends -o Dpkg::Use-Pty=0 $*"
	if [ "$(id -u)" != 0 ]; then
		give_up "these Debian packages are missing: $*" "sudo $install"
	fi
	say "installing $*"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq >&2 || say "apt-get update failed; trying with the lists there are"
	# shellcheck disable=SC2086 # words are meant to be split
	$install -qq >&2 </dev/null ||
		give_up "apt-get could not install $*" "see its messages above"
}

find_python >/dev/null || packages+=(python3 python3-venv python3-dev)
if command -v dpkg-query >/dev/null; then
	missing=$(missing_packages)
	# shellcheck disable=SC2086
	[ -z "$missing" ] || install_packages $missing
else
	say "not a Debian or Ubuntu machine: the build needs what these have: ${packages[*]}"
fi
python=$(find_python) || give_up "no Python of version 3.11 or newer was found" \
	"use Debian 12 or Ubuntu 24.04, or put such a python3 first in PATH"

# --------------------------------------------------------------------- the venv

stamp=.venv/pyrr.stamp
inputs() {
	printf '%s\n' "$PWD" "$("$python" -c 'import sys; print(sys.version)')" "$extras"
	cat pyproject.toml setup.py
}
wanted=$(inputs | sha256sum)

if ! .venv/bin/python -c '' 2>/dev/null; then
	say "making .venv with $("$python" --version)"
	rm -rf .venv
	"$python" -m venv .venv
fi
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
	# What the developers need is a superset: never take it away again.
	extras_before=$(cat .venv/pyrr.extras 2>/dev/null || true)
	if [ -z "$extras" ] && [ -n "$extras_before" ]; then
		extras=$extras_before
		wanted=$(inputs | sha256sum)
	fi
fi
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
	say "installing pyrr and the Python packages it uses"
	PYRR_CORE_IN_PLACE=1 .venv/bin/python -m pip install --quiet \
		--disable-pip-version-check -e ".$extras" </dev/null >&2
	printf '%s' "$extras" >.venv/pyrr.extras
	printf '%s\n' "$wanted" >"$stamp"
fi

# ----------------------------------------------------------------- the C core

.venv/bin/python scripts/build_core.py >/dev/null
