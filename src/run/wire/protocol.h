/* protocol.h -- what the frames between a master and its workers mean.
 * SPDX-License-Identifier: MIT
 *
 * Both say hello first. The master then describes the job, in one or more frames, and the
 * worker answers that it is ready or why it is not. From then on the master gives pieces of
 * the input to the slots of the worker (`peer` of a frame is the slot, `chunk` the piece),
 * ahead of time if it likes: a slot works on them one after the other. Both send something
 * every second, so that silence means that the other is gone. */
#ifndef CV_PROTOCOL_H
#define CV_PROTOCOL_H
#include <stdint.h>
#include "base/arena.h"
#include "run/common/content_hash.h"
#include "run/common/pack.h"
#include "run/common/packed.h"
#include "run/common/piece_part.h"
#include "run/common/range_set.h"
#include "run/wire/frame.h"

enum {
    CV_CORES_MOST = 1 << 20,
    CV_SEATS_MOST = 1 << 16
}; /* of a machine; of a job there */

enum cv_frame_type {
    CV_FRAME_PING =
        1,          /* value: bytes per second that the link is known to move; 0: not */
    CV_FRAME_HELLO, /* payload: struct cv_hello; value: from a master the key of the mark that
                       it wants on standard error (connect_stderr.h), 0: none; from a worker 1 if
                       it writes such marks                                             */

    /* From the master. */
    CV_FRAME_JOB,   /* payload: struct cv_remote_job, in frames up to CV_FRAME_LAST     */
    CV_FRAME_PIECE, /* payload: struct cv_remote_piece; then, unless it is shared, DATA.
                       value 1: it is open, its command is started at once, and how long
                       its body will be is not known; shared, MORE follows               */
    CV_FRAME_DATA,  /* bytes of it; value: enum cv_remote_part, in that order. LAST: all
                       has been sent, be it less than was announced                     */
    CV_FRAME_CUT,   /* let the body of a piece that has been sent end after `value` bytes
                       and its mates after as many as the payload says, if that can be  */
    CV_FRAME_STOP,  /* stop the piece, or forget it if it has not been begun            */
    CV_FRAME_LEAVE, /* let the command of the slot end, if it stays                     */

    /* From the worker. */
    CV_FRAME_READY,    /* value: 1 if the shared input was found; payload: why not      */
    CV_FRAME_REFUSED,  /* payload: why the job cannot be done here                      */
    CV_FRAME_GOT,      /* value: bytes of the piece that have come; LAST: all of it     */
    CV_FRAME_COMPUTED, /* the command has ended; value: microseconds it took            */
    CV_FRAME_OUTPUT,   /* bytes of its output; value 1: of what an item brings back     */
    CV_FRAME_END,      /* payload: struct cv_remote_end; all output has been sent       */
    CV_FRAME_CUT_DONE, /* answer to CUT: value 1 if it was cut, else 0                  */
    CV_FRAME_LEFT, /* the command that stayed has ended; payload: struct cv_remote_end */
    CV_FRAME_HAS_LEFT, /* answer to LEAVE: the slot has no command any more             */
    CV_FRAME_SILENT,   /* the command that stays does not answer its first piece        */

    /* From the master, of an open piece. */
    CV_FRAME_LOOK, /* say SEEN, unless it is over                                       */
    CV_FRAME_MORE, /* shared: what it is now, as of PIECE. LAST: that is all             */

    /* From the worker, of an open piece; `value` counts header and body of what it is now. */
    CV_FRAME_STARTED, /* its command reads; value: microseconds since it was started    */
    CV_FRAME_FED, /* its command has been given so many bytes                        */
    CV_FRAME_DRAINED, /* it has read all there is, so many bytes, and waits for more    */
    CV_FRAME_SEEN,    /* answer to LOOK; payload: struct cv_remote_seen                 */

    /* From the master, of the piece that is announced next: variables of its command, NAME=VALUE,
     * as a list. */
    CV_FRAME_TOLD,

    /* From the master: the body of the piece comes as it lies in a compressed file, or lies in one
     * that the worker sees, and is decoded by it. Payload: struct cv_remote_packed (protocol.h). Before the first of its bytes,
     * and again when its end is another one. */
    CV_FRAME_PACKED,

    /* The same of a body that does not come at all: the worker fetches it. Payload: struct
     * cv_remote_drawn (protocol.h). */
    CV_FRAME_DRAWN,

    /* From the worker: bytes of an output while its command runs; value: how many came before them.
     * If the job asks for lines, as far as these are whole, of all pieces; else of those that the
     * master wants to SHOW. OUTPUT brings the rest when it has ended. */
    CV_FRAME_LINES,

    /* From the worker, which has been told to end: it has to go, and begins nothing new. Then BACK,
     * of every piece that is all there and was not begun: it is given back. */
    CV_FRAME_NOTICE,
    CV_FRAME_BACK,

    /* From the master: the output of the piece is the next to be written, and is wanted as it comes. */
    CV_FRAME_SHOW,

    CV_FRAME_OTHERS = 64, /* from here on: for other transports                         */
};

enum { CV_HELLO_MARKS = 1 };

struct cv_hello {
    const char *version; /* of cleave                                                  */
    const char *host;    /* name of the machine                                        */
    uint64_t cores;      /* that it may use                                            */
};

/* A file that the worker may be able to read itself. */
struct cv_remote_file {
    const char *path;
    uint64_t size;
    int64_t mtime_ns;
    struct cv_content_hash ends; /* of its first and last 64 KiB                       */
};

struct cv_remote_job {
    const char **command;     /* words, ended by NULL                                  */
    const char **names;       /* of the slots: what CLEAVE_WORKER says; ended by NULL  */
    const char **environment; /* NAME=VALUE, ended by NULL                             */
    const char *directory;    /* to work in; "": where it is                           */
    bool persistent, hashes;  /* hashes: say the hash of what a piece was              */
    bool items;       /* pieces are items (protocol.h)                           */
    bool cleanup;     /* files that came or went back are removed              */
    bool lines;       /* lines of outputs are sent as they come                */
    bool early;       /* outputs may be asked for as they come (SHOW)          */
    double timeout_s; /* of the command; 0: none                               */
    double silence_s; /* so long may the master say nothing                    */
    uint64_t memory;  /* bytes kept in memory                                  */
    struct cv_remote_file *files;
    uint64_t nfiles;
};

/* What a piece is. Shared: ranges of files of the job; else how many bytes of each come.
 * `mates` says whether there are any, `file` and `mate_file` where they are. */
struct cv_remote_piece {
    bool shared, mates;
    uint64_t file, mate_file;
    struct cv_range header, body, mate;
    enum cv_closing closing; /* shared: it follows the body; else it is among its bytes */
};

enum cv_remote_part { CV_PART_HEADER, CV_PART_BODY, CV_PART_MATE, CV_PARTS };

enum {
    CV_END_TIMED_OUT = 1,
    CV_END_STOPPED = 2,
    CV_END_FAILED = 4,
    CV_END_UNSEEN =
        8, /* of an item: a file that did not travel is not there            */
    CV_END_SPOILED = 16, /* it came packed, and cannot be decoded: `fault` says why     */
};

struct cv_remote_end {
    uint64_t flags;
    int64_t exit_code, signal;
    double compute_s;
    /* Both sides compare these: bytes of the piece that have come, bytes that the command was
     * to be given, and bytes of output that were sent, lines before its end among them, or, for a
     * fold, are kept; the sums are
     * those of their frames (cv_frame_sum). */
    uint64_t come, come_sum, given, output, output_sum;
    double user_s, system_s;
    double after_s; /* of an open piece: what it took behind the end of its input; 0: not
                       known                                                            */
    struct cv_content_hash hash; /* of what the command was given, if asked for        */
    const char *fault;           /* as of a slot; ""                                   */
};

/* How far the command of an open piece is. */
struct cv_remote_seen {
    uint64_t read; /* bytes of the body                                                */
    uint64_t output;
    double cpu_s; /* 0: not known                                                      */
};

/* Texts ended by NULL; NULL is none. */
void cv_pack_list(struct cv_packer *packer, const char *const *texts);
const char **cv_unpack_list(struct cv_unpacker *unpacker, struct cv_arena *arena);

void cv_pack_hello(struct cv_packer *packer, const struct cv_hello *hello);
bool cv_unpack_hello(const void *bytes, size_t length, struct cv_arena *arena,
                     struct cv_hello *out);
/* Whether this side can work with `other`, "the worker", who said this: it is the same cleave,
 * and what it says of itself can be. */
enum cleave_status cv_hello_check(const struct cv_hello *hello, const char *other,
                                  struct cleave_error *err);
void cv_pack_job(struct cv_packer *packer, const struct cv_remote_job *job);
bool cv_unpack_job(const void *bytes, size_t length, struct cv_arena *arena,
                   struct cv_remote_job *out);
void cv_pack_piece(struct cv_packer *packer, const struct cv_remote_piece *piece);
bool cv_unpack_piece(const void *bytes, size_t length, struct cv_remote_piece *out);
void cv_pack_end(struct cv_packer *packer, const struct cv_remote_end *end);
bool cv_unpack_end(const void *bytes, size_t length, struct cv_arena *arena,
                   struct cv_remote_end *out);

void cv_pack_seen(struct cv_packer *packer, const struct cv_remote_seen *seen);
bool cv_unpack_seen(const void *bytes, size_t length, struct cv_remote_seen *out);

/* Hash of the first and last 64 KiB of a file of `size` bytes. */
enum cleave_status cv_remote_ends(int fd, uint64_t size, const char *name,
                                  struct cv_content_hash *out, struct cleave_error *err);

enum { CV_PARCEL_HEAD_MOST = 64 << 20, CV_PARCEL_GOOD = 1, CV_PARCEL_BAD = 2 };

struct cv_item_message_file {
    const char
        *name; /* over there: absolute, or from the folder of the worker on          */
    uint64_t size, mode;
    int64_t mtime_ns;
    bool
        travels; /* its bytes come; else the same file has to be there                   */
    struct cv_content_hash
        ends; /* of one that does not: of its first and last 64 KiB   */
};

/* There. */
struct cv_item_message {
    uint64_t item;
    const char **words, **told; /* of the command; variables, NAME=VALUE; ended by NULL */
    const char **returns;       /* names of files that come back                       */
    struct cv_item_message_file
        *files; /* the first `nbase` are for all items                  */
    uint64_t nfiles, nbase;
    bool errors; /* what it writes to standard error comes back as well             */
    const char
        *fault; /* why it cannot be run; "": it can                                */
};

/* And back, in the order of `returns`; the first one is standard error, if asked for. */
struct cv_item_message_back {
    struct cv_item_message_file
        *files; /* without names; one that was not found does not travel */
    uint64_t nfiles;
};

void cv_pack_parcel(struct cv_packer *packer, const struct cv_item_message *message);
bool cv_unpack_parcel(const void *bytes, size_t length, struct cv_arena *arena,
                      struct cv_item_message *out);
void cv_pack_back(struct cv_packer *packer, const struct cv_item_message_back *back);
bool cv_unpack_back(const void *bytes, size_t length, struct cv_arena *arena,
                    struct cv_item_message_back *out);

enum { CV_PACKED_BLOCKS = 8192 }; /* in a frame: there may be several */

struct cv_remote_packed {
    const char *form;     /* its name, as of --decode                                  */
    struct cv_range body; /* of the file, decoded                                      */
    struct cv_range in;   /* what comes for that                                       */
    uint64_t file; /* it does not come: it is in this file of the job, + 1; 0: it comes */
    uint64_t header; /* ... and so many bytes of a header come before                  */
    enum cv_closing
        closing;      /* follows the body, and does not come                       */
    uint64_t out_end; /* where the last of all blocks that were told ends, decoded */
    struct cv_packed_block *blocks; /* that were not told before */
    size_t nblocks;
};

/* A body that a command gives (run/fetch/fetch_command.h). */
struct cv_remote_drawn {
    const char *line, *name; /* the line for a shell, the name of the input          */
    uint64_t size;           /* of that                                              */
    struct cv_range body;
    enum cv_closing closing;
};

void cv_pack_drawn(struct cv_packer *packer, const struct cv_remote_drawn *drawn);
bool cv_unpack_drawn(const void *bytes, size_t length, struct cv_arena *arena,
                     struct cv_remote_drawn *out);
void cv_pack_packed(struct cv_packer *packer, const struct cv_remote_packed *packed);
bool cv_unpack_packed(const void *bytes, size_t length, struct cv_arena *arena,
                      struct cv_remote_packed *out);

enum cv_fold_frame {
    /* From the master. `chunk` is the name of a partial. */
    CV_FRAME_REDUCE = CV_FRAME_OTHERS, /* outputs stay from now on; value: base;
                                          payload: command, retries, seconds allowed   */
    CV_FRAME_GIVE,                     /* send it to the peer `value`; payload: what it is
                                          called there                                 */
    CV_FRAME_FOLD,                     /* make it; payload: how many partials it takes,
                                          and their names, in order                    */
    CV_FRAME_FOLD_OFF,                 /* do not make it, if it has not been made       */
    CV_FRAME_FORGET,                   /* it is not needed any more, not even if it is
                                          still to come                                */
    CV_FRAME_FETCH,                    /* send it to the master                         */
    CV_FRAME_FOLD_STOP,                /* stop folding                                  */

    /* From the worker. */
    CV_FRAME_FOLDED,      /* it has been made and has `value` bytes; payload: how often it
                             was tried                                                 */
    CV_FRAME_FOLD_FAILED, /* payload: how often it was tried, and what was wrong       */
    CV_FRAME_HEADWAY, /* every second while it has something to make or to give; `chunk`:
                         the partial it waits for, 0: none; value: grows with every byte
                         that comes or goes, and as long as the command runs           */

    /* To the master or a peer, also between workers: bytes of it, up to CV_FRAME_LAST;
     * value: how many came before them. */
    CV_FRAME_PARTIAL,
};

#endif
