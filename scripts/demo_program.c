/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The program that scripts/demo records: a till that adds up a list of prices with
 * two threads, and gets it wrong. Now and then a thread is held up for a random moment
 * between reading the total and writing it back: what the other one added meanwhile is
 * lost. How much is lost depends on time and chance, so no two runs are the same.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { PRICES_MAX = 1000 };

static int prices[PRICES_MAX];
static int price_count;
static long total; /* shared by both threads, and that is the bug: no lock */

/* Waits up to half a millisecond, once in `rarity` calls. */
static void be_held_up(int rarity)
{
	uint8_t chance[2];
	struct timespec moment = { 0, 0 };

	if (getrandom(chance, sizeof(chance), 0) != sizeof(chance))
		abort();
	if (chance[0] % rarity == 0) {
		moment.tv_nsec = 2000L * chance[1];
		nanosleep(&moment, NULL);
	}
}

static void *add_every_second(void *first)
{
	for (int i = *(int *)first; i < price_count; i += 2) {
		long seen;

		be_held_up(2);
		seen = total;
		be_held_up(8);
		total = seen + prices[i];
	}
	return NULL;
}

static long read_prices(const char *path)
{
	FILE *list = fopen(path, "r");
	long sum = 0;

	if (!list) {
		perror(path);
		exit(2);
	}
	while (price_count < PRICES_MAX && fscanf(list, "%d", &prices[price_count]) == 1)
		sum += prices[price_count++];
	fclose(list);
	return sum;
}

static void print_receipt_head(void)
{
	struct timespec now;
	uint32_t number = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		abort();
	printf("till: process %d, receipt %08x, %ld.%09ld seconds after 1970\n", (int)getpid(),
		number, (long)now.tv_sec, now.tv_nsec);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int first[2] = { 0, 1 };
	long right;

	if (argc != 2) {
		fprintf(stderr, "usage: till PRICES\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0); /* in order with stderr, into files too */
	right = read_prices(argv[1]);
	print_receipt_head();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, add_every_second, &first[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("till: %d prices, total %ld, right would be %ld\n", price_count, total, right);
	if (total == right)
		return 0;
	fprintf(stderr, "till: BUG: %ld missing\n", right - total);
	return 1;
}
