#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bash: subshells with environments of their own, traps on EXIT, on signals and
# in subshells, process substitution, arrays, RANDOM, $$ and BASHPID.
# pyrr-test: status=17
trap 'echo "exit trap of $$, status $?"; rm -f *.tmp' EXIT
trap 'echo "got SIGUSR1"' USR1
x=outer
( x=inner; trap 'echo "subshell $BASHPID of $$ ends"' EXIT; echo "$x" )
echo "$x"
kill -USR1 $$
( kill -USR1 $$ )
diff <(printf '1\n2\n') <(printf '1\n3\n')
echo "diff said $?"
for i in 1 2 3; do echo "$i $RANDOM" > "$i.tmp"; done
cat ./*.tmp
( exec sh -c 'kill -TERM $$' )
echo "killed: $?"
coproc cat
echo "through the coprocess" >&"${COPROC[1]}"
read -r -u "${COPROC[0]}" reply
echo "$reply"
exec {COPROC[1]}>&-
wait
f() { local depth=$1; [ "$depth" -gt 0 ] && f $((depth - 1)); return "$depth"; }
f 5
echo "now $(date +%s.%N), up $SECONDS s, ppid $PPID"
exit 17
