#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Background jobs: wait for one, for any, for all; killing one; job control
# (set -m) with stop and continue; a job that outlives the script is orphaned.
# pyrr-test: needs=command:ps
mkfifo gate gate2
for i in 1 2 3; do ( read -r word < /dev/null; echo "job $i"; exit "$i" ) & pids[i]=$!; done
for i in 3 1 2; do wait "${pids[i]}"; echo "job $i: status $?"; done
sh -c 'read word < gate; echo "got $word"; exit 9' &
echo opened > gate
wait -n
echo "any: $?"
sleep 1000 & victim=$!
kill -TERM "$victim"
wait "$victim"
echo "victim: $?"
set -m
sh -c 'echo going; kill -STOP $$; echo continued; exit 4' &
stopped=$!
# A traced process that is stopped shows t.
until ps -o stat= -p $stopped | grep -qi '^t'; do :; done
kill -CONT "$stopped"
wait "$stopped"
echo "stopped one: $?"
set +m
( read -r word < gate2; echo "orphan: $word" ) &
disown
( echo late > gate2 ) &
echo "script $$ ends"
