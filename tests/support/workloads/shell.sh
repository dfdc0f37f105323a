#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pipelines, subshells, traps and background jobs. $1: how many rounds.
set -u
rounds=$1
trap 'echo "exit trap, status $?"' EXIT
trap 'echo "caught SIGUSR1"' USR1
count() { printf '%s\n' "$@" | grep -c .; }
for ((round = 1; round <= rounds; round++)); do
	total=$(seq 1 200 | awk '{ s += $1 } END { print s }')
	( trap 'echo "subshell of round $round ends"' EXIT; cd / && echo "in $PWD" )
	for job in 1 2 3; do
		( seq 1 $((job * 50)) | sort -r | head -n 1 > "job-$round-$job"; exit "$job" ) &
		pids[job]=$!
	done
	for job in 3 2 1; do
		wait "${pids[job]}"
		echo "round $round: job $job ended with $?"
	done
	kill -USR1 $$
	echo "total $total, $(count job-"$round"-*) files, $(cat job-"$round"-* | tr '\n' ' ')"
	tr a-z A-Z <<-END | sed 's/^/  /'
		here-document of round $round
	END
	mkfifo "fifo-$round"
	( cat "fifo-$round" | wc -c ) & reader=$!
	head -c 100000 /dev/zero > "fifo-$round"
	wait "$reader"
done
mkfifo ready
sh -c 'echo > ready; exec sleep 1000' & sleeper=$!
read -r _ < ready # it is past bash's own start, whose traps it would run
kill "$sleeper"
wait "$sleeper"
echo "sleeper ended with $?"
exit 42
