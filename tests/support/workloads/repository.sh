#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# git init, add, commit, log and gc on a generated repository. $1: how many commits.
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 HOME="$PWD"
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.org
git init -q -b main repository
cd repository
n=1
while [ $n -le "$1" ]; do
	mkdir -p "dir$((n % 4))"
	seq $n $((n * 30)) > "dir$((n % 4))/file$n"
	echo "change $n" >> history.txt
	git add .
	GIT_AUTHOR_DATE="@$((1000000000 + n)) +0000" GIT_COMMITTER_DATE="@$((1000000000 + n)) +0000" \
		git commit -q -m "commit $n"
	n=$((n + 1))
done
git checkout -q -b side HEAD~2
git merge-base main side
git log --oneline --stat --graph main
git gc -q --aggressive --prune=now
git fsck --full
git count-objects -v | grep -v size
git diff main~1 main | git hash-object --stdin
git grep -c change main
