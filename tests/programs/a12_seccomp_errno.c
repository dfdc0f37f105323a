/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A12: filters of the program's own that say ERRNO: the strictest of several
 * wins, children and exec'ed programs inherit them, getters tell the mode.
 * Wrong: the recorder's own calls fail, or the filter has no effect.
 */
#include "filter.h"

#include <sys/utsname.h>

static void check_denied(const char *who)
{
	struct utsname name;

	CHECK(syscall(SYS_getppid) == -1 && errno == EXDEV);
	CHECK(uname(&name) == -1 && errno == EDOM);
	CHECK(getpid() > 0);
	CHECK(prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER);
	say("%s %d is filtered\n", who, getpid());
}

int main(int argc, char **argv)
{
	pid_t child;
	int status;

	if (argc > 1) {
		check_denied("exec'ed");
		return 33;
	}
	CHECK(prctl(PR_GET_SECCOMP) == 0 && syscall(SYS_getppid) > 0);
	filter_install(SYS_getppid, SECCOMP_RET_ERRNO | EXDEV);
	CHECK(syscall(SYS_getppid) == -1 && errno == EXDEV);
	filter_install(SYS_uname, SECCOMP_RET_ERRNO | EDOM);
	check_denied("parent");
	child = fork();
	if (child == 0) {
		check_denied("child");
		execl("/proc/self/exe", argv[0], "again", NULL);
		_exit(1);
	}
	status = reap(child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 33);
	filter_install(SYS_getppid, SECCOMP_RET_ERRNO | EPERM);
	CHECK(syscall(SYS_getppid) == -1 && errno == EPERM); /* the last one is asked first */
	return 0;
}
