/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A loop that changes the constant of its own instruction in every round, under a timer's
 * signals.
 * Wrong: changes to code get lost when a probe comes or goes.
 */
#include "alarmed.h"

#include <sys/mman.h>

/* mov ecx,400000; xor eax,eax; lea rdx,[rip+1] (the constant);
 * 1: add eax,0; inc dword [rdx]; dec ecx; jnz 1b; ret */
static const unsigned char self_changing[] = { 0xb9, 0x80, 0x1a, 0x06, 0, 0x31, 0xc0, 0x48, 0x8d,
	0x15, 1, 0, 0, 0, 0x05, 0, 0, 0, 0, 0xff, 0x02, 0xff, 0xc9, 0x75, 0xf5, 0xc3 };

int main(void)
{
	unsigned char *code = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*function)(void) = (uint32_t (*)(void))(uintptr_t)code;
	uint32_t sum = 0;

	CHECK(code != MAP_FAILED);
	memcpy(code, self_changing, sizeof(self_changing));
	alarm_every(2000);
	for (int n = 0; n < 1; n++) {
		for (uint32_t i = 0; i < 400000; i++)
			sum += i;
		CHECK(function() == sum);
	}
	alarm_every(0);
	say("%d alarms, %x\n", alarms, sum);
	return 0;
}
