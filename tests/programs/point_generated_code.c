/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Loops in code that is generated at run time, in memory that mprotect makes executable
 * afterwards, under a timer's signals; then freed, and other code at the same address.
 * Wrong: a probe is left in such code, or planted in what was there before.
 */
#include "alarmed.h"

#include <sys/mman.h>

#define ROUNDS 3000000u
#define CODE_LEN 4096

/* mov ecx,ROUNDS; xor eax,eax; 1: add eax,K; xor eax,ecx; dec ecx; jnz 1b; ret */
static const unsigned char body[] = { 0xb9, 0, 0, 0, 0, 0x31, 0xc0, 0x05, 0, 0, 0, 0, 0x31, 0xc8,
	0xff, 0xc9, 0x75, 0xf5, 0xc3 };

static uint32_t wanted(uint32_t k)
{
	uint32_t eax = 0;

	for (uint32_t ecx = ROUNDS; ecx; ecx--)
		eax = (eax + k) ^ ecx;
	return eax;
}

/* `pad` bytes of nop first: the loop lies elsewhere each time. */
static void generate(unsigned char *at, uint32_t k, int pad)
{
	const uint32_t rounds = ROUNDS;

	memset(at, 0xcc, CODE_LEN);
	memset(at, 0x90, (size_t)pad);
	memcpy(at + pad, body, sizeof(body));
	memcpy(at + pad + 1, &rounds, 4);
	memcpy(at + pad + 8, &k, 4);
}

static void execute(const unsigned char *at, uint32_t k, const char *name)
{
	uint32_t (*function)(void) = (uint32_t (*)(void))(uintptr_t)at;
	uint32_t got = function();

	CHECK(got == wanted(k));
	say("%s: %x\n", name, got);
}

int main(void)
{
	unsigned char *writable, *again;

	alarm_every(2000);
	writable = mmap(NULL, CODE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(writable != MAP_FAILED);
	for (int i = 0; i < 4; i++) {
		CHECK(mprotect(writable, CODE_LEN, PROT_READ | PROT_WRITE) == 0);
		generate(writable, 70 + (uint32_t)i, i);
		CHECK(mprotect(writable, CODE_LEN, PROT_READ | PROT_EXEC) == 0);
		execute(writable, 70 + (uint32_t)i, "writable, then executable");
	}
	for (int i = 0; i < 4; i++) {
		CHECK(munmap(writable, CODE_LEN) == 0);
		again = mmap(writable, CODE_LEN, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(again == writable);
		generate(again, 90 + (uint32_t)i, 4 - i);
		CHECK(mprotect(again, CODE_LEN, PROT_READ | PROT_EXEC) == 0);
		execute(again, 90 + (uint32_t)i, "the address used again");
	}
	alarm_every(0);
	say("%d alarms\n", alarms);
	return 0;
}
