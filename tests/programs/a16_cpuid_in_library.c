/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A16: libraries that run cpuid in constructors are loaded at run time, and
 * loaded again after being unloaded.
 * Wrong: only the executable's and ld.so's instructions are treated.
 * pyrr-test: cflags=-ldl
 */
#include "check.h"

#include <dlfcn.h>

int main(void)
{
	const char *names[] = { "libgcc_s.so.1", "libstdc++.so.6", "libcrypto.so.3",
		"libgcrypt.so.20", "libm.so.6" };

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5; i++) {
			void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

			say("%s at %p\n", names[i], library);
			if (library)
				CHECK(dlclose(library) == 0);
		}
	}
	return 0;
}
