/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stdin is read by read, stdio and a child; the replay has none.
 * pyrr-test: stdin=first line\nsecond line\nthird line for the child\nlast\n
 * pyrr-test: deterministic
 */
#include "check.h"

#include <ctype.h>

int main(void)
{
	char line[64];
	size_t n = 0;
	pid_t child;

	while (n < sizeof(line) - 1 && read(0, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = 0;
	say("<%s>\n", line);
	child = fork();
	if (child == 0) {
		setvbuf(stdin, NULL, _IONBF, 0);
		CHECK(fgets(line, sizeof(line), stdin));
		CHECK(fgets(line, sizeof(line), stdin));
		for (char *p = line; *p; p++)
			*p = (char)toupper(*p);
		say("child: %s", line);
		_exit(0);
	}
	reap_ok(child);
	CHECK(fgets(line, sizeof(line), stdin));
	say("%s", line);
	CHECK(!fgets(line, sizeof(line), stdin) && feof(stdin));
	return 0;
}
