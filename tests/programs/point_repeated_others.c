/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Repeated string instructions of other kinds, forwards and backwards, under a timer's
 * signals: movsq, cmpsb, scasb, lodsb, and stosd with the direction flag set.
 * Wrong: a handler sees other registers than recorded, or the comparison ends elsewhere.
 */
#include "alarmed.h"

#define LEN (1ul << 20)

static unsigned char from[LEN], to[LEN];

static void forwards(unsigned char byte)
{
	const unsigned char *s = from;
	unsigned char *d = to;
	size_t n = LEN / 8;

	memset(from, byte, LEN);
	from[LEN - 1] = (unsigned char)~byte;
	__asm__ volatile("rep movsq" : "+S"(s), "+D"(d), "+c"(n) : : "memory");
	CHECK(n == 0 && d == to + LEN && to[0] == byte && to[LEN - 1] != byte);
	to[LEN - 2] = (unsigned char)~byte;
	s = from;
	d = to;
	n = LEN;
	__asm__ volatile("repe cmpsb" : "+S"(s), "+D"(d), "+c"(n) : : "memory", "cc");
	CHECK(n == 1);
	d = to;
	n = LEN;
	__asm__ volatile("repne scasb"
		: "+D"(d), "+c"(n)
		: "a"((unsigned char)~byte)
		: "memory", "cc");
	CHECK(n == 1);
	s = from;
	n = LEN;
	__asm__ volatile("rep lodsb" : "+S"(s), "+c"(n) : : "rax", "memory");
	CHECK(n == 0 && s == from + LEN);
}

static void backwards(uint32_t word)
{
	unsigned char *d = to + LEN - 4;
	size_t n = LEN / 4;

	__asm__ volatile("std\n\trep stosl\n\tcld" : "+D"(d), "+c"(n) : "a"(word) : "memory");
	CHECK(n == 0 && d == to - 4);
	CHECK(memcmp(to, &word, 4) == 0 && memcmp(to + LEN - 4, &word, 4) == 0);
}

int main(void)
{
	uint64_t hash = HASH_START;

	alarm_every(2000);
	for (int i = 0; i < 40; i++) {
		forwards((unsigned char)i);
		backwards(0x01020304u * (unsigned)i);
		hash = hash_bytes(to + LEN / 2, 64, hash);
	}
	alarm_every(0);
	say("%d alarms, %016lx\n", alarms, hash);
	return 0;
}
