/* protocol.h -- types and payloads of the frames between a master and its workers.
 * SPDX-License-Identifier: MIT
 *
 * Both sides send HELLO. The master then sends the job; the worker answers READY or REFUSED.
 * From then on the master gives pieces of the input to the slots of the worker (`peer` of a
 * frame is the slot, `chunk` the piece), ahead of time if it likes: a slot works on its pieces
 * in order. Both sides send at least one frame per second; silence means that a side is lost. */
#ifndef CV_PROTOCOL_H
#define CV_PROTOCOL_H
#include <stdint.h>
#include <sys/stat.h>
#include <cleave/execute.h>
#include "base/arena.h"
#include "run/common/piece_part.h"
#include "run/common/transfer.h"
#include "run/common/range_set.h"
#include "run/wire/frame.h"

enum {
    CV_CORES_MOST = 1 << 20, /* cores of a machine                                      */
    CV_SEATS_MOST = 1 << 16, /* slots of a job on a machine                             */
};

enum cv_frame_type {
    CV_FRAME_PING = 1, /* value: bytes per second that the link moves; 0: not known     */
    CV_FRAME_HELLO,    /* payload: struct cv_hello; value from a master: key of the mark
                          that it wants on standard error (connect_stderr.h), 0: none;
                          from a worker: 1 if it writes such marks                      */

    /* From the master. */
    CV_FRAME_JOB,   /* payload: struct cv_remote_job, in frames up to CV_FRAME_LAST     */
    CV_FRAME_PIECE, /* payload: struct cv_remote_piece; then DATA, unless it is shared.
                       value 1: the piece is open: its command starts at once, and its
                       length is not known yet; if it is shared, MORE follows           */
    CV_FRAME_DATA,  /* bytes of the piece; value: enum cv_remote_part, in that order.
                       LAST: that is all, even if less than was announced               */
    CV_FRAME_CUT,   /* if still possible, end the body of the piece after `value` bytes,
                       and its mates after as many bytes as the payload says            */
    CV_FRAME_STOP,  /* stop the command of the piece, or drop a piece that waits        */
    CV_FRAME_LEAVE, /* let the persistent command of the slot end                       */

    /* From the worker. */
    CV_FRAME_READY,    /* value: 1 if the shared input was found; payload: why not      */
    CV_FRAME_REFUSED,  /* payload: why the job cannot be done here                      */
    CV_FRAME_GOT,      /* value: bytes of the piece that have arrived; LAST: all of it  */
    CV_FRAME_COMPUTED, /* the command has ended; value: its microseconds                */
    CV_FRAME_OUTPUT,   /* bytes of the output; value 1: files that an item returns    */
    CV_FRAME_END,      /* payload: struct cv_remote_end; all output has been sent       */
    CV_FRAME_CUT_DONE, /* answer to CUT; value 1: the piece was cut, 0: it was not      */
    CV_FRAME_LEFT, /* a persistent command has ended; payload: struct cv_remote_end     */
    CV_FRAME_HAS_LEFT, /* answer to LEAVE: the slot has no command                      */
    CV_FRAME_SILENT,   /* a persistent command does not answer its first piece          */

    /* From the master, for an open piece. */
    CV_FRAME_LOOK, /* asks for SEEN; not answered if the piece has ended                */
    CV_FRAME_MORE, /* new extent of a shared piece, as in PIECE. LAST: final            */

    /* From the worker, for an open piece. `value` counts bytes of header and body. */
    CV_FRAME_STARTED, /* the command reads; value: microseconds since its start         */
    CV_FRAME_FED,     /* the command has been given `value` bytes                       */
    CV_FRAME_DRAINED, /* the command has read all `value` bytes and waits for more      */
    CV_FRAME_SEEN,    /* answer to LOOK; payload: struct cv_remote_seen                 */

    CV_FRAME_TOLD,   /* from the master: variables for the command of the piece that is
                      announced next; payload: a list of NAME=VALUE                     */
    CV_FRAME_PACKED, /* from the master: the body of the piece comes compressed, or is in a
                        compressed file that the worker sees; the worker decodes it. Sent
                        before the first byte, and again when the end changes. Payload:
                        struct cv_remote_packed                                         */
    CV_FRAME_DRAWN,  /* from the master: the worker fetches the body. Payload: struct
                        cv_remote_drawn                                                 */
    CV_FRAME_LINES,  /* from the worker: output of a running command; value: bytes before
                        it. If the job asks for lines: whole lines of all pieces; else of
                        pieces that the master wants to SHOW. OUTPUT brings the rest    */
    CV_FRAME_NOTICE, /* from the worker: it was told to end and starts nothing new      */
    CV_FRAME_BACK,   /* after NOTICE: a complete piece that was not started is returned */
    CV_FRAME_SHOW,   /* from the master: send the output of this piece as it is written;
                        it is the next to be written                                    */

    /* Partial results that stay with the workers (engine/fold_plan.h). `chunk` is the id of a
     * partial result; the output of a piece gets the id base + number of the piece. A worker
     * keeps parts that it has sent or folded until FORGET: nothing is lost with their receiver.
     * An id has CV_FOLD_RESULT if it is the result of folds, or a copy of one. */
    CV_FRAME_OTHERS = 64,

    /* From the master. */
    CV_FRAME_REDUCE = CV_FRAME_OTHERS, /* keep outputs from now on; value: base; payload:
                                          command, retries, time limit                  */
    CV_FRAME_GIVE, /* send it to the peer `value`; payload: its id there           */
    CV_FRAME_FOLD, /* make it; payload: number and ids of its parts, in order; value 1:
                           and then send it to the master                               */
    CV_FRAME_FOLD_OFF,  /* do not make it, unless it has been made                      */
    CV_FRAME_FORGET,    /* drop it, now or when it arrives                              */
    CV_FRAME_FETCH,     /* send it to the master                                        */
    CV_FRAME_FOLD_STOP, /* stop folding                                                 */

    /* From the worker. */
    CV_FRAME_FOLDED,      /* made; value: its bytes; payload: attempts                  */
    CV_FRAME_FOLD_FAILED, /* payload: attempts, and a message                           */
    CV_FRAME_HEADWAY, /* every second while it has something to make or to give; `chunk`:
                         the partial result that it waits for, 0: none; value: grows with
                         every byte that arrives or leaves, and while the command runs  */

    CV_FRAME_PARTIAL, /* to the master or a peer: bytes of it, up to CV_FRAME_LAST; value:
                         bytes before them                                              */
};

/* --- payloads ----------------------------------------------------------------------------- */

enum { CV_HELLO_MARKS = 1 };

struct cv_hello {
    const char *version; /* version of cleave                                          */
    const char *host;    /* name of the machine                                        */
    uint64_t cores;      /* that it may use                                            */
};

/* A file of the input that the worker may be able to read itself. */
struct cv_remote_file {
    const char *path;
    uint64_t size;
    int64_t mtime_ns;
    struct cv_content_hash ends; /* hash of its first and last 64 KiB                  */
};

struct cv_remote_job {
    const char *const *command;     /* ended by NULL                                   */
    const char *const *names;       /* CLEAVE_WORKER of each slot; ended by NULL       */
    const char *const *environment; /* NAME=VALUE, ended by NULL                       */
    const char *directory;          /* to work in; "": the current one                 */
    const char *store; /* outputs go to files next to this one, which has to be seen here
                          (cv_stored_output_name); "": they are sent                   */
    bool persistent;
    uint64_t window; /* consecutive slots that share a persistent command; 0: none do */
    bool hashes;     /* END has the hash of the bytes that the command was given      */
    bool items;      /* pieces are items (struct cv_item_message)                     */
    bool cleanup;    /* remove files that were sent or returned                       */
    bool lines;      /* send lines of outputs while commands run                      */
    bool early;      /* the master may ask for outputs while commands run (SHOW)      */
    struct cleave_statuses ok; /* of commands that have not failed, besides 0          */
    double timeout_s; /* limit for a command; 0: none                                  */
    double silence_s; /* time without a frame after which the master is lost           */
    uint64_t memory;  /* bytes of output kept in memory                                */
    struct cv_remote_file *files;
    uint64_t nfiles;
};

/* Shared: ranges of files of the job. Else: how many bytes of each part arrive. */
struct cv_remote_piece {
    bool shared, mates;       /* mates: there are any                                  */
    uint64_t file, mate_file; /* indices of files of the job                           */
    struct cv_range header, body, mate;
    enum cv_closing closing; /* shared: follows the body; else: is among its bytes     */
};

enum cv_remote_part { CV_PART_HEADER, CV_PART_BODY, CV_PART_MATE, CV_PARTS };

enum {
    CV_END_TIMED_OUT = 1,
    CV_END_STOPPED = 2,
    CV_END_FAILED = 4,
    CV_END_UNSEEN = 8,   /* a file of an item that was not sent does not exist here    */
    CV_END_LATER = 32,   /* a persistent command wants the piece after retry_s         */
    CV_END_SPOILED = 16, /* the piece was compressed and cannot be decoded; see `fault` */
};

struct cv_remote_end {
    uint64_t flags;
    int64_t exit_code, signal;
    double compute_s;
    /* For comparison by the master: bytes of the piece that arrived, bytes for the command,
     * bytes of output that were sent (with LINES) or, for a fold, kept; and the sums of the
     * frames (cv_frame_sum). */
    uint64_t come, come_sum, given, output, output_sum;
    double user_s, system_s;
    double after_s; /* open piece: time after the end of its input; 0: not known */
    double retry_s; /* cv_error_lines_retry_after; 0: not told                          */
    struct cv_content_hash hash; /* hash of the bytes for the command, if asked for */
    uint64_t file; /* number of the file that has the output; 0: the output was sent   */
    struct cv_content_hash output_hash; /* hash of its bytes                           */
    const char *fault; /* cv_slot.fault; "": none                             */
};

/* How far the command of an open piece is. */
struct cv_remote_seen {
    uint64_t read; /* bytes of the body                                                */
    uint64_t output;
    double cpu_s; /* 0: not known                                                      */
};

enum { CV_PACKED_BLOCKS = 8192 }; /* per frame */

/* The body of a piece that the worker decodes. */
struct cv_remote_packed {
    const char *form;     /* name of the codec                                         */
    struct cv_range body; /* range of the decoded file                                 */
    struct cv_range in;   /* range of the compressed file                              */
    uint64_t file;        /* 1 + index of the file of the job to read; 0: it is sent   */
    uint64_t header;      /* bytes of a header that are sent before; only with `file`  */
    enum cv_closing closing; /* follows the body; is not sent                          */
    uint64_t out_end;        /* end of the last known block in the decoded file        */
    struct cv_packed_block *blocks; /* that the worker does not know yet               */
    size_t nblocks;
};

/* The body of a piece that a command on the worker fetches (run/fetch/fetch_command.h). */
struct cv_remote_drawn {
    const char *line; /* for a shell                                                   */
    const char *name; /* name of the input                                             */
    uint64_t size;    /* size of the input                                             */
    struct cv_range body;
    enum cv_closing closing;
};

/* An item is a piece whose header is a struct cv_item_message and whose body are the bytes of
 * its files and one byte, CV_ITEM_GOOD or CV_ITEM_BAD. Its files return after the output:
 * length of the header (8 bytes), struct cv_item_message_back, bytes of the files. */
enum {
    CV_ITEM_HEAD_MOST = 64 << 20,
    CV_ITEM_GOOD = 1, /* the files were read as announced                            */
    CV_ITEM_BAD = 2,  /* a file changed meanwhile                                    */
};

struct cv_item_message_file {
    const char *name; /* at the worker: absolute, or relative to its directory         */
    uint64_t size, mode;
    int64_t mtime_ns;
    bool travels; /* bytes are sent; else the same file has to exist there             */
    struct cv_content_hash ends; /* if not sent: hash of its first and last 64 KiB     */
};

struct cv_item_message {
    uint64_t item;
    const char *const *words;   /* command; ended by NULL                              */
    const char *const *told;    /* variables NAME=VALUE; ended by NULL                 */
    const char *const *returns; /* names of files to return; ended by NULL             */
    struct cv_item_message_file *files; /* the first `nbase` are for all items         */
    uint64_t nfiles, nbase;
    bool errors;       /* return standard error, as the first file                     */
    const char *fault; /* why the item cannot be run; "": it can                       */
};

/* Files without names, in the order of `returns`; a file that does not exist does not travel. */
struct cv_item_message_back {
    struct cv_item_message_file *files;
    uint64_t nfiles;
};

/* The name of the file of an output: that of cv_remote_job.store, and the number. NULL: out of
 * memory. */
char *cv_stored_output_name(const char *store, uint64_t number);

/* --- as bytes -----------------------------------------------------------------------------
 *
 * A packer without memory sets `failed`. Unpackers return false for bytes that are not such a
 * payload, or if memory is short; texts and arrays are in the arena. */

/* Texts ended by NULL; NULL is an empty list. */
void cv_pack_list(struct cv_packer *packer, const char *const *texts);
const char **cv_unpack_list(struct cv_unpacker *unpacker, struct cv_arena *arena);

#define CV_PAYLOAD_MAP(X)       \
    X(hello, cv_hello)          \
    X(job, cv_remote_job)       \
    X(piece, cv_remote_piece)   \
    X(end, cv_remote_end)       \
    X(seen, cv_remote_seen)     \
    X(packed, cv_remote_packed) \
    X(drawn, cv_remote_drawn)   \
    X(item, cv_item_message)    \
    X(back, cv_item_message_back)

#define X(name, type)                                                               \
    void cv_pack_##name(struct cv_packer *packer, const struct type *in);           \
    bool cv_unpack_##name(const void *bytes, size_t length, struct cv_arena *arena, \
                          struct type *out);
CV_PAYLOAD_MAP(X)
#undef X

/* EINPUT: not a hello of our version from a `sender` ("worker"), or impossible cores. */
enum cleave_status cv_hello_read(const struct cv_frame_head *head, const void *payload,
                                 const char *sender, struct cv_arena *arena,
                                 struct cv_hello *out, struct cleave_error *err);
int64_t cv_stat_mtime_ns(const struct stat *facts);
/* Hash of the first and last 64 KiB of a file of `size` bytes. */
enum cleave_status cv_remote_ends(int fd, uint64_t size, const char *name,
                                  struct cv_content_hash *out, struct cleave_error *err);

#endif
