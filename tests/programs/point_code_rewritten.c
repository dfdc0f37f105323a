/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Code is written and run in one slice, in a mapping that is writable and executable.
 * Wrong: the probe, planted before the code was written, is overwritten; or its displaced
 * instruction is what was there before.
 */
#include "alarmed.h"

#include <sys/mman.h>

/* mov ecx,N; xor eax,eax; 1: add eax,7; xor eax,ecx; dec ecx; jnz 1b; ret */
static const unsigned char body[] = { 0xb9, 0xc0, 0xc6, 0x2d, 0, 0x31, 0xc0, 0x05, 7, 0, 0, 0, 0x31,
	0xc8, 0xff, 0xc9, 0x75, 0xf5, 0xc3 };

int main(void)
{
	unsigned char *code = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*function)(void) = (uint32_t (*)(void))(uintptr_t)code;
	uint32_t sum = 0;

	CHECK(code != MAP_FAILED);
	alarm_every(1000);
	for (int i = 0; i < 10; i++) { /* no system call in here */
		memset(code, 0xcc, 64);
		memcpy(code, body, sizeof(body));
		code[8] = (unsigned char)i;
		sum += function();
	}
	alarm_every(0);
	say("%d alarms, %x\n", alarms, sum);
	return 0;
}
