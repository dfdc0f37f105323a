/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random bytes: getrandom in all its ways, getentropy, /dev/urandom, /dev/random,
 * AT_RANDOM, the stack protector's and malloc's secrets, mkstemp names, a uuid
 * of the kernel.
 */
#include "check.h"

#include <sys/auxv.h>
#include <sys/random.h>

static void show(const char *what, const void *data, size_t len)
{
	const unsigned char *p = data;

	say("%s:", what);
	for (size_t i = 0; i < len; i++)
		say(" %02x", p[i]);
	say("\n");
}

static void from_file(const char *path, size_t len)
{
	unsigned char bytes[40];
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0);
	CHECK(read(fd, bytes, len) == (ssize_t)len);
	show(path, bytes, len);
	close(fd);
}

static uint64_t canary(void)
{
	uint64_t value;

	__asm__ volatile("movq %%fs:0x28, %0" : "=r"(value));
	return value;
}

int main(void)
{
	char name[] = "temporary-XXXXXX";
	unsigned char bytes[32], big[70000];
	pid_t child;

	CHECK(getrandom(bytes, sizeof(bytes), 0) == 32);
	show("getrandom", bytes, 32);
	CHECK(getrandom(bytes, 7, GRND_RANDOM) == 7);
	CHECK(getrandom(bytes, 16, GRND_NONBLOCK) == 16);
	show("nonblock", bytes, 16);
	CHECK(getrandom(big, sizeof(big), 0) == sizeof(big));
	say("70000 bytes: %016lx\n", hash_bytes(big, sizeof(big), HASH_START));
	CHECK(getentropy(bytes, 32) == 0);
	show("getentropy", bytes, 32);
	from_file("/dev/urandom", 40);
	from_file("/dev/random", 16);
	from_file("/proc/sys/kernel/random/uuid", 36);
	show("AT_RANDOM", (const void *)getauxval(AT_RANDOM), 16);
	say("canary %016lx, malloc %p, code %p, stack %p\n", canary(), malloc(100), (void *)main,
		(void *)bytes);
	CHECK(mkstemp(name) >= 0);
	say("%s\n", name);
	child = fork();
	if (child == 0) {
		CHECK(getrandom(bytes, 8, 0) == 8);
		show("child", bytes, 8);
		_exit(0);
	}
	reap_ok(child);
	return 0;
}
