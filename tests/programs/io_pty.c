/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A pseudo terminal: a child with it as controlling terminal, echo and line
 * editing, window size and SIGWINCH, Ctrl-C as SIGINT, raw mode, hang-up.
 * Wrong: ioctls of terminals are not in the trace, or leave the real terminal changed.
 */
#include "check.h"

#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

static volatile sig_atomic_t resized, interrupted;

static void handler(int signo)
{
	if (signo == SIGWINCH)
		resized++;
	else
		interrupted++;
}

static void child_body(void)
{
	struct sigaction action = { .sa_handler = handler };
	struct winsize size;
	struct termios t;
	char line[64];
	ssize_t n;

	CHECK(sigaction(SIGWINCH, &action, NULL) == 0 && sigaction(SIGINT, &action, NULL) == 0);
	CHECK(isatty(0) && tcgetattr(0, &t) == 0 && (t.c_lflag & ICANON));
	say("ready, %s\n", ttyname(0) ? "a terminal" : "none");
	do {
		n = read(0, line, sizeof(line));
	} while (n == -1 && errno == EINTR && !interrupted);
	CHECK(n == 6 && memcmp(line, "hello\n", 6) == 0);
	while (!resized)
		pause();
	CHECK(ioctl(0, TIOCGWINSZ, &size) == 0 && size.ws_row == 50);
	say("resized to %dx%d\n", size.ws_col, size.ws_row);
	while (!interrupted)
		pause();
	cfmakeraw(&t);
	CHECK(tcsetattr(0, TCSADRAIN, &t) == 0);
	say("interrupted\r\n");
	CHECK(read(0, line, 1) == 1 && line[0] == 3);
	_exit(12);
}

/* Reads from the terminal until `wanted` has come. */
static void expect(int master, const char *wanted)
{
	char text[512] = "";
	size_t n = 0;

	while (!strstr(text, wanted)) {
		ssize_t got = read(master, text + n, sizeof(text) - 1 - n);

		CHECK(got > 0);
		n += (size_t)got;
		text[n] = 0;
	}
	write_all(STDOUT_FILENO, text, n);
}

int main(void)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	char rest[64];
	int master, status;
	pid_t child = forkpty(&master, NULL, NULL, &size);

	if (child == -1) {
		say("no pseudo terminals: %s\n", strerror(errno));
		return 0;
	}
	if (child == 0)
		child_body();
	expect(master, "ready");
	write_all(master, "helx\177lo\n", 8);
	expect(master, "lo\r\n");
	size.ws_row = 50;
	CHECK(ioctl(master, TIOCSWINSZ, &size) == 0);
	expect(master, "resized to 80x50");
	write_all(master, "\003", 1);
	expect(master, "interrupted\r\n");
	write_all(master, "\003", 1);
	status = reap(child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 12);
	CHECK(read(master, rest, sizeof(rest)) == -1 && errno == EIO);
	return 0;
}
