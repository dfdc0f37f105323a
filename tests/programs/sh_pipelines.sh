#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Shell pipelines of several stages, their exit status, a stage that ends early
# (SIGPIPE of its writer), command substitution and here-documents.
# pyrr-test: deterministic
seq 1 3000 | grep 7 | sed 's/7/seven/' | sort -r | head -n 5
yes | head -n 3
echo "status of the last stage: $?"
false | true && echo "a pipeline's status is its last stage's"
words=$(printf 'b\na\nc\n' | sort | tr '\n' ' ')
echo "sorted: $words"
cat <<END | tr a-z A-Z
here-document of $((6 * 7)) lines
with \$dollar
END
printf 'one\ntwo\n' > list
while read -r line; do echo "line <$line>"; done < list
echo out | tee copy | wc -c
cmp copy - <<END && echo same
out
END
ls | wc -l
expr "$(cat list | wc -l)" : '[ ]*2' > /dev/null && echo "two lines"
