/* journal.h -- what a run has finished, so that it can be resumed. SPDX-License-Identifier: MIT
 *
 * A journal is an SQLite database of one run, which is known by its command, its splitter
 * and its inputs. A finished chunk is there with its range, the hash of what the command
 * was given and all of its output, or not at all, whenever the process may be killed.
 * Anybody who may read the file may look into it while the run goes on, but only one run
 * can have it:
 *
 *   run(key, command, splitter, header, pairs, persistent, started, seal)
 *   input(file, path, device, inode, size, mtime_ns, seal)
 *                                  file counts from 0; size -1: a stream
 *   chunk(id, file, first_byte, end_byte, hash, status, seconds, start_seconds, worker,
 *         output_bytes, output_hash, seal)
 *                                  start_seconds: until it read its input; 0: not known
 *   output(chunk, part, bytes)     in parts of 1 MiB
 *
 * A seal is a hash of all other columns of its row and of the key, a random number that
 * each run draws: damage to any of them is noticed, and so is a row that some earlier
 * content of the file has left behind. It is no signature: who can write to the file can
 * make it say anything. Of a journal with the wrong owner, with links, or with any table
 * but these, nothing is believed (journal_file.c).
 *
 * A resumed run asks for what is finished, gives it to the source and compares:
 *
 *   cv_journal_open(... CV_JOURNAL_RESUME ...), cv_journal_tell(journal, source)
 *   as long as cv_source_known gives something: cv_journal_confirm(...); if it is the same,
 *   cv_journal_output(...) and, if that is whole, cv_source_finish(...); else
 *   cv_source_put_back(...) */
#ifndef CV_JOURNAL_H
#define CV_JOURNAL_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/common/content_hash.h"
#include "run/input/source.h"

struct cv_journal;

/* What makes a run, beside the inputs of its source. */
struct cv_journal_run {
    const char *command;  /* borrowed: the words, quoted as for a shell */
    const char *splitter; /* borrowed                                   */
    bool header, pairs, persistent;
};

enum cv_journal_mode {
    CV_JOURNAL_NEW,       /* refuses a journal that holds finished chunks               */
    CV_JOURNAL_RESUME,    /* refuses that of another run; there need not be one         */
    CV_JOURNAL_OVERWRITE, /* forgets what it held; refuses a file that is no journal    */
};

/* Open or make the journal `path`, and lock it until it is closed. Inputs may have been
 * added after those of the run that is resumed. *out is owned by the caller. */
enum cleave_status cv_journal_open(const char *path, enum cv_journal_mode mode,
                                   const struct cv_journal_run *run,
                                   const struct cv_source *source,
                                   struct cv_journal **out, struct cleave_error *err);
void cv_journal_close(struct cv_journal *journal);

/* A finished chunk. */
struct cv_journal_chunk {
    uint64_t id; /* given by the journal as long as it is open */
    size_t file;
    uint64_t begin, end; /* offsets in the file                */
    struct cv_content_hash hash;
    int status;              /* of the command                     */
    double seconds, start_s; /* in all; until it read its input, 0: not known */
    char worker[64];
    uint64_t output_bytes;
    struct cv_content_hash output_hash;
};

/* Add a chunk whose output is [begin, end) of `fd`; id, output_bytes and output_hash are
 * not read. When it fails, as on a full disk, nothing has changed and it may be tried
 * again. */
enum cleave_status cv_journal_add(struct cv_journal *journal,
                                  const struct cv_journal_chunk *chunk, int fd,
                                  uint64_t begin, uint64_t end, struct cleave_error *err);
/* The chunk after the last one given, in order of files and offsets; *found is false after
 * the last. Those that are damaged are left out, forgotten and counted. cv_journal_rewind
 * begins again, with what was added since; ids change. */
enum cleave_status cv_journal_next(struct cv_journal *journal, bool *found,
                                   struct cv_journal_chunk *out,
                                   struct cleave_error *err);
void cv_journal_rewind(struct cv_journal *journal);
/* Pass the output of chunk `id` to `sink`, part by part; `bytes` are borrowed for the
 * call. Ends with the first status that is not OK. *whole is false if it is not the output
 * that was added, which may only show after parts of it were passed: then the chunk counts
 * as damaged and stays in the journal until its bytes are added again. */
typedef enum cleave_status cv_journal_sink(void *context, const void *bytes,
                                           size_t length, struct cleave_error *err);
enum cleave_status cv_journal_output(struct cv_journal *journal, uint64_t id,
                                     cv_journal_sink *sink, void *context, bool *whole,
                                     struct cleave_error *err);
/* How many chunks were found damaged since it was opened, and of how many. */
uint64_t cv_journal_damaged(const struct cv_journal *journal, uint64_t *of);

/* Tell the source all that is finished (cv_source_know), with the ids as tags. */
enum cleave_status cv_journal_tell(struct cv_journal *journal, struct cv_source *source,
                                   struct cleave_error *err);
/* What workers cost. */
struct cv_journal_costs {
    double *speed_ups; /* by worker, bytes per second; the caller's               */
    double *start_s;   /* by worker: until a command reads; the caller's          */
    bool known;        /* speeds of all workers                                   */
    bool differ;       /* ... by more than chance; else they are their mean       */
    bool starts_known;
};

/* What the workers of these names cost, as far as the chunks say that were given last
 * (cv_journal_tell). */
enum cleave_status cv_journal_speeds(const struct cv_journal *journal,
                                     const char *const *names, uint32_t count,
                                     struct cv_journal_costs *out,
                                     struct cleave_error *err);
/* Whether what cv_source_known gave (CV_KNOWN_PIECE or CV_KNOWN_BROKEN) is the same as when
 * chunk `id` was finished. If not, *note says what has changed; the chunk stays in the
 * journal until its bytes are added again. */
enum cleave_status cv_journal_confirm(struct cv_journal *journal,
                                      struct cv_source *source, enum cv_known state,
                                      const struct cv_piece *piece, uint64_t id,
                                      bool *same, struct cleave_error *note,
                                      struct cleave_error *err);

#endif
