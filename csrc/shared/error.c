/* SPDX-License-Identifier: GPL-2.0-or-later
 * Errors of the C core. Message and remedy are heap strings that belong to the
 * prr_error; when memory runs out they stay NULL and status and errnum tell. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void prr_error_init(struct prr_error *err)
{
	*err = (struct prr_error){ .status = PRR_OK };
}

void prr_error_deinit(struct prr_error *err)
{
	if (!err)
		return;
	free(err->message);
	free(err->remedy);
	prr_error_init(err);
}

/* "message: strerror", owned by the caller; NULL when memory runs out. */
static char *with_strerror(char *message, int errnum)
{
	char *joined;

	if (!message || !errnum)
		return message;
	if (asprintf(&joined, "%s: %s", message, strerror(errnum)) < 0)
		return message;
	free(message);
	return joined;
}

__attribute__((format(printf, 5, 0))) static enum prr_status fail_v(struct prr_error *err,
	enum prr_status status, int errnum, const char *remedy, const char *format, va_list ap)
{
	char *message = NULL;
	char *remedy_copy = remedy ? strdup(remedy) : NULL;

	if (vasprintf(&message, format, ap) < 0)
		message = NULL;
	message = with_strerror(message, errnum);
	/* Only now: the arguments may point into the old message. */
	prr_error_deinit(err);
	err->status = status;
	err->errnum = errnum;
	err->message = message;
	err->remedy = remedy_copy;
	return status;
}

enum prr_status prr_fail(struct prr_error *err, enum prr_status status, int errnum,
	const char *remedy, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	status = fail_v(err, status, errnum, remedy, format, ap);
	va_end(ap);
	return status;
}

enum prr_status prr_fail_errno(struct prr_error *err, const char *format, ...)
{
	int errnum = errno;
	enum prr_status status;
	va_list ap;

	va_start(ap, format);
	status = fail_v(err, PRR_ERR_SYSTEM, errnum, NULL, format, ap);
	va_end(ap);
	return status;
}
