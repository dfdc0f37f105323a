/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A hash map that grows, is asked and shrinks. argv: thousands of keys. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>

int main(int argc, char **argv)
{
	const uint32_t keys = (argc > 1 ? atoi(argv[1]) : 100) * 1000u;
	std::unordered_map<uint64_t, uint64_t> numbers;
	std::unordered_map<std::string, uint32_t> names;
	uint64_t x = 1, sum = 0;

	for (uint32_t i = 0; i < keys; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		numbers[x >> 40] += i;
		names[std::to_string(x >> 52)]++;
	}
	for (const auto &entry : numbers)
		sum = sum * 31 + entry.first + entry.second;
	for (uint32_t i = 0; i < keys; i++)
		numbers.erase(i);
	printf("%zu numbers, %zu names, %016lx\n", numbers.size(), names.size(), sum);
}
