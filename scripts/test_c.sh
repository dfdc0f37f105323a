#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds and runs the C tests, csrc/tests/test_*.c, under ASan and UBSan.
#
#   scripts/test_c.sh [NAME...]     e.g. scripts/test_c.sh test_trace
#   CC='gcc' scripts/test_c.sh      one compiler instead of every one found
#
# The first line of a test names what it needs, sources relative to csrc/:
#   /* sources: shared/error.c shared/buffer.c libs: -lzstd -lz */
# A test runs in an empty directory of its own and passes when it exits with 0.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/pyrr-test-c.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

warnings='-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror'
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'

compilers=${CC:-}
if [ -z "$compilers" ]; then
	for cc in gcc clang; do
		command -v "$cc" >/dev/null 2>&1 && compilers="$compilers $cc"
	done
fi
[ -n "$compilers" ] || { echo 'test_c.sh: neither gcc nor clang is installed' >&2; exit 3; }

run_test() { # compiler, test source
	name=$(basename "$2" .c)
	first=$(head -n 1 "$2")
	case $first in
	'/* sources:'*'*/') ;;
	*) echo "test_c.sh: $2: the first line does not name its sources" >&2; return 1 ;;
	esac
	needs=${first#'/* sources:'}
	needs=${needs%'*/'}
	libs=
	case $needs in
	*libs:*) libs=${needs#*libs:}; needs=${needs%%libs:*} ;;
	esac
	sources=
	for source in $needs; do
		sources="$sources $root/csrc/$source"
	done
	mkdir -p "$work/$1/$name"
	# shellcheck disable=SC2086 # the lists are meant to be split
	"$1" -std=gnu11 -O1 -g $warnings $sanitize -I"$root/csrc/include" \
		-I"$root/csrc/shared" -o "$work/$1/$name/$name" "$2" $sources $libs || return 1
	(cd "$work/$1/$name" && UBSAN_OPTIONS=print_stacktrace=1 "./$name")
}

failed=0
ran=0
for cc in $compilers; do
	for test in "$root"/csrc/tests/test_*.c; do
		name=$(basename "$test" .c)
		case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
		ran=$((ran + 1))
		if run_test "$cc" "$test"; then
			echo "ok   $cc $name"
		else
			echo "FAIL $cc $name"
			failed=$((failed + 1))
		fi
	done
done
[ "$ran" -gt 0 ] || { echo 'test_c.sh: no such test' >&2; exit 2; }
[ "$failed" -eq 0 ]
