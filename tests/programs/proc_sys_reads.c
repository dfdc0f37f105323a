/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Files of /proc and /sys whose text the kernel makes up at each read.
 * Wrong: the replay opens them anew, or a short read at an odd offset differs.
 */
#include "check.h"

static void show(const char *path, size_t piece)
{
	char text[8192];
	int fd = open(path, O_RDONLY);
	size_t total = 0, lines = 0;
	uint64_t hash = HASH_START;
	ssize_t n;

	if (fd < 0) {
		say("%s: %s\n", path, strerror(errno));
		return;
	}
	while ((n = read(fd, text, piece)) > 0) {
		hash = hash_bytes(text, (size_t)n, hash);
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
		total += (size_t)n;
	}
	CHECK(n == 0 || errno == EIO || errno == EINVAL);
	say("%s: %zu bytes, %zu lines, %016lx\n", path, total, lines, hash);
	close(fd);
}

int main(void)
{
	const char *paths[] = { "/proc/self/stat", "/proc/self/status", "/proc/self/maps",
		"/proc/self/smaps_rollup", "/proc/self/statm", "/proc/self/cmdline",
		"/proc/self/environ", "/proc/self/auxv", "/proc/self/limits",
		"/proc/self/mountinfo", "/proc/self/cgroup", "/proc/self/io", "/proc/self/sched",
		"/proc/self/wchan", "/proc/self/comm", "/proc/stat", "/proc/meminfo",
		"/proc/cpuinfo", "/proc/uptime", "/proc/loadavg", "/proc/interrupts",
		"/proc/net/dev", "/proc/mounts", "/proc/sys/kernel/pid_max",
		"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible",
		"/sys/kernel/mm/transparent_hugepage/enabled" };
	char line[512];
	FILE *maps;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		show(paths[i], 8192);
		show(paths[i], 100);
	}
	maps = fopen("/proc/self/maps", "r");
	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps))
		say("%s", line);
	fclose(maps);
	return 0;
}
