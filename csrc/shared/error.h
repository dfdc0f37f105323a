/* SPDX-License-Identifier: GPL-2.0-or-later
 * Errors of the C core: a status return plus a caller-owned prr_error. */
#ifndef PRR_ERROR_H
#define PRR_ERROR_H

#include "pyrr_core.h"

/* Fills *err (replacing what it held) and returns `status`, so that callers can
 * write `return prr_fail(err, PRR_ERR_TRACE, 0, "hint", "fmt", ...)`. `remedy`
 * may be NULL. With `errnum` set, ": <strerror>" is appended to the message. */
__attribute__((format(printf, 5, 6))) enum prr_status prr_fail(struct prr_error *err,
	enum prr_status status, int errnum, const char *remedy, const char *format, ...);

/* Shorthand: a system call of the supervisor failed with the current errno. */
__attribute__((format(printf, 2, 3))) enum prr_status prr_fail_errno(
	struct prr_error *err, const char *format, ...);

/* Propagates a failure to the caller. */
#define PRR_TRY(expression)                             \
	do {                                            \
		enum prr_status status_ = (expression); \
		if (status_ != PRR_OK)                  \
			return status_;                 \
	} while (0)

#endif
