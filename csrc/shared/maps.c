/* SPDX-License-Identifier: GPL-2.0-or-later
 * /proc/PID/maps (proc_pid_maps(5)). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "error.h"
#include "mappings.h"

/* Parses one line in place; false when it is not of the known shape. */
static bool parse_line(char *text, struct prr_maps_line *line)
{
	char perms[5];
	unsigned int major_number, minor_number;
	int path_at = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		    &line->start, &line->end, perms, &line->offset, &major_number, &minor_number,
		    &line->ino, &path_at) != 7)
		return false;
	line->dev = makedev(major_number, minor_number);
	line->prot = (perms[0] == 'r' ? PROT_READ : 0u) | (perms[1] == 'w' ? PROT_WRITE : 0u) |
		(perms[2] == 'x' ? PROT_EXEC : 0u);
	line->shared = perms[3] == 's';
	line->path = text + path_at;
	return true;
}

enum prr_status prr_maps_each(int tid,
	enum prr_status (*each)(
		void *context, const struct prr_maps_line *line, struct prr_error *err),
	void *context, struct prr_error *err)
{
	char name[64];
	char *text = NULL;
	size_t capacity = 0;
	enum prr_status status = PRR_OK;

	snprintf(name, sizeof(name), "/proc/%d/maps", tid);
	FILE *file = fopen(name, "re");
	if (!file)
		return prr_fail_errno(err, "cannot read %s", name);
	while (status == PRR_OK && getline(&text, &capacity, file) > 0) {
		struct prr_maps_line line;

		if (parse_line(text, &line))
			status = each(context, &line, err);
		else
			status = prr_fail(err, PRR_ERR_INTERNAL, 0, NULL,
				"line of unknown shape in %s: %s", name, text);
	}
	free(text);
	fclose(file);
	return status;
}
