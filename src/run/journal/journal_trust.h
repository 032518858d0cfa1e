/* journal_trust.h -- whose file a journal is, and whose those are that SQLite keeps beside it.
 * SPDX-License-Identifier: MIT */
#ifndef CV_JOURNAL_TRUST_H
#define CV_JOURNAL_TRUST_H
#include <sys/stat.h>
#include <cleave/error.h>

/* Whether only we can have written what the file at `path` holds, which has these facts, and the
 * files with its name and -wal, -shm and -journal behind it; and whether those are what SQLite
 * makes. It reads them as part of the journal, and removes them. */
enum cleave_status cv_journal_trust(const char *path, const struct stat *facts,
                                    struct cleave_error *err);

#endif
