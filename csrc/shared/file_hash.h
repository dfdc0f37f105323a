/* SPDX-License-Identifier: GPL-2.0-or-later
 * A hash of a stored file's contents: written down when the file is stored,
 * compared before replay maps it. A stored file that was damaged since must be
 * an error of the trace, not a Divergence somewhere later. */
#ifndef PRR_FILE_HASH_H
#define PRR_FILE_HASH_H

#include "pyrr_core.h"

/* Reads the regular file open at fd from its start. Holes and written zeros
 * count the same: a copy may be sparser than its original. *size gets bytes. */
PRR_MUST_USE enum prr_status prr_file_hash(
	int fd, uint64_t *size, uint64_t *hash, struct prr_error *err);

#endif
