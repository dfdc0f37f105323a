# SPDX-License-Identifier: GPL-2.0-or-later
# Word counts, associative arrays, printf and pipes to commands.
{
	for (i = 1; i <= NF; i++) count[$i]++
	bytes += length($0) + 1
}
END {
	for (word in count) printf "%d %s\n", count[word], word | "sort -k1,1nr -k2 | head -n 12"
	close("sort -k1,1nr -k2 | head -n 12")
	printf "%d lines, %d bytes\n", NR, bytes
	"echo from a command" | getline line
	print line
	exit 3
}
