/* journal.h -- finished chunks of a run, so that it can be resumed. SPDX-License-Identifier: MIT
 *
 * A journal is an SQLite database of one run, which is identified by its command, its splitter
 * and its inputs. A finished chunk is in it with its range, the hash of the bytes that the
 * command was given and all of its output, or not at all, whenever the process is killed. Other
 * processes may read the file at any time, but only one run can use it:
 *
 *   run(key, command, splitter, header, pairs, persistent, started, files, seal)
 *                                  files: of the command (command_files.h)
 *   input(file, path, device, inode, size, mtime_ns, seal)
 *                                  file counts from 0; size -1: a stream
 *   chunk(id, file, first_byte, end_byte, hash, status, seconds, start_seconds, worker,
 *         output_bytes, output_hash, seal)
 *                                  start_seconds: until it read its input; 0: unknown
 *   output(chunk, part, bytes)     in parts of 1 MiB
 *
 * A seal is a hash of all other columns of its row and of the key, a random number of the run.
 * It detects damage, and rows that an earlier journal has left in the file. It is not a
 * signature: a process that may write the file can forge it. A journal with another owner, with
 * links, or with other tables is refused (journal_file.c).
 *
 * To resume a run, call cv_journal_open(... CV_JOURNAL_RESUME ...) and cv_journal_tell. For each
 * piece of cv_source_known call cv_journal_confirm. If the piece is unchanged, call
 * cv_journal_output, and cv_source_finish if the output is complete; else cv_source_put_back. */
#ifndef CV_JOURNAL_H
#define CV_JOURNAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/common/piece_part.h"
#include "run/input/source.h"

struct cleave_items;
struct cv_journal;

/* With ONCE the header is a chunk, and its output begins all others. */
enum cv_journal_header { CV_NO_HEADER, CV_HEADER, CV_HEADER_ONCE };

/* The identity of a run, together with the inputs of its source. */
struct cv_journal_run {
    const char *command;  /* borrowed: words, quoted for a shell */
    const char *splitter; /* borrowed                            */
    enum cv_journal_header header;
    bool pairs, persistent;
    /* Borrowed: cv_command_files of its command, which may change (cv_journal_changed); NULL: none */
    const char *files;
};

enum cv_journal_mode {
    CV_JOURNAL_NEW,       /* refuses a journal with finished chunks            */
    CV_JOURNAL_RESUME,    /* refuses the journal of another run; may make one  */
    CV_JOURNAL_OVERWRITE, /* empties a journal; refuses files of another kind  */
};

/* Open or make the journal `path`, and lock it until it is closed. Inputs may have been appended
 * since the first run. *out is owned by the caller. */
enum cleave_status cv_journal_open(const char *path, enum cv_journal_mode mode,
                                   const struct cv_journal_run *run,
                                   const struct cv_source *source,
                                   struct cv_journal **out, struct cleave_error *err);
void cv_journal_close(struct cv_journal *journal);

/* A finished chunk. */
struct cv_journal_chunk {
    uint64_t id; /* index in cv_journal_load */
    size_t file;
    uint64_t begin, end; /* offsets in the file */
    struct cv_content_hash hash;
    int status;              /* exit status of the command */
    double seconds, start_s; /* total; until the command read its input, 0: unknown */
    char worker[64];
    uint64_t output_bytes;
    struct cv_content_hash output_hash;
    bool outside; /* for cv_journal_add: another file has the bytes of the output */
};

/* Add a chunk whose output is [begin, end) of `fd`; id, output_bytes and output_hash are not
 * read. fd -1: the output is `outside`, and they are its size and hash. If the call fails, for example because the disk is full, the journal is unchanged. */
enum cleave_status cv_journal_add(struct cv_journal *journal,
                                  const struct cv_journal_chunk *chunk, int fd,
                                  uint64_t begin, uint64_t end, struct cleave_error *err);
/* Read all finished chunks, by file and offset. Damaged chunks are removed and counted. */
enum cleave_status cv_journal_load(struct cv_journal *journal, size_t *out_count,
                                   struct cleave_error *err);
/* Pass the output of chunk `id` to `sink`, part by part; `bytes` are borrowed for the call. Ends
 * with the first status that is not OK. *whole is false if the output is damaged, which
 * may be detected after parts of it were passed. Then the chunk stays in the journal until its
 * bytes are added again. */
typedef enum cleave_status cv_journal_sink(void *context, const void *bytes,
                                           size_t length, struct cleave_error *err);
enum cleave_status cv_journal_output(struct cv_journal *journal, uint64_t id,
                                     cv_journal_sink *sink, void *context, bool *whole,
                                     struct cleave_error *err);
/* Whether the output of chunk `id` is outside, and `fd` is its file, complete and unchanged. */
enum cleave_status cv_journal_output_is(struct cv_journal *journal, uint64_t id, int fd,
                                        bool *out, struct cv_journal_chunk *out_chunk,
                                        struct cleave_error *err);
/* A file of the command that was changed since the first run, such as its script; NULL: none. */
const char *cv_journal_changed(const struct cv_journal *journal);
/* Damaged chunks since the journal was opened, of *of chunks. */
uint64_t cv_journal_damaged(const struct cv_journal *journal, uint64_t *of);

/* Load chunks and pass them to the source (cv_source_know), with ids as tags. */
enum cleave_status cv_journal_tell(struct cv_journal *journal, struct cv_source *source,
                                   struct cleave_error *err);
/* Whether the piece of cv_source_known (CV_KNOWN_PIECE or CV_KNOWN_BROKEN) is the same as when
 * chunk `id` was finished. If not, *note describes the change; the chunk stays in the journal
 * until its bytes are added again. */
enum cleave_status cv_journal_confirm(struct cv_journal *journal,
                                      struct cv_source *source, enum cv_known state,
                                      const struct cv_piece *piece, uint64_t id,
                                      bool *same, struct cleave_error *note,
                                      struct cleave_error *err);

/* Costs of workers. */
struct cv_journal_costs {
    double *speed_ups; /* bytes per second of each worker; memory of the caller      */
    double *start_s;   /* start-up time of each worker's command; likewise           */
    bool known;        /* speeds of all workers                                      */
    bool differ;       /* speeds differ by more than chance; else all are their mean */
    bool starts_known;
};

/* Estimate costs of the workers of these names from the chunks that were loaded. */
enum cleave_status cv_journal_speeds(const struct cv_journal *journal,
                                     const char *const *names, uint32_t count,
                                     struct cv_journal_costs *out,
                                     struct cleave_error *err);

/* --- items ---------------------------------------------------------------------------------
 *
 * An item is identified by the words of its command, wherever it is in the list, and by the
 * contents of the files that are its arguments, as they were before it started. Its offset in the
 * journal is a hash of the words; items with the same words have consecutive offsets. */

struct cv_item_keys;

/* *out is owned by the caller; the items are borrowed. */
enum cleave_status cv_item_keys_new(const struct cleave_items *items,
                                    struct cv_item_keys **out, struct cleave_error *err);
void cv_item_keys_free(struct cv_item_keys *keys);
/* The offset of an item in a journal. */
uint64_t cv_item_keys_at(const struct cv_item_keys *keys, uint64_t item);
/* Hash the current contents of the files of an item. */
enum cleave_status cv_item_keys_content(struct cv_item_keys *keys, uint64_t item,
                                        struct cv_content_hash *out,
                                        struct cleave_error *err);
/* As cv_journal_tell, for finished items whose files are unchanged or do not exist any longer. */
enum cleave_status cv_journal_tell_items(struct cv_journal *journal,
                                         struct cv_source *source,
                                         struct cv_item_keys *keys,
                                         struct cleave_error *err);

#endif
