/* piece_part.h -- bytes that a command is given. SPDX-License-Identifier: MIT */
#ifndef CV_PIECE_PART_H
#define CV_PIECE_PART_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cv_lazy_reader;

/* Bytes in memory, or [begin, end) of a file or of a well. */
struct cv_part {
    const void *bytes; /* borrowed, of end - begin bytes; NULL: a file               */
    bool lasting;      /* they stay as they are, wherever they are passed on to      */
    int fd;            /* borrowed                                                   */
    struct cv_lazy_reader
        *well; /* borrowed: in the place of `fd`; NULL: it is the file    */
    uint64_t begin, end;
    const char *name; /* borrowed, for messages; may be NULL                        */
};

/* What is put behind the last record of a file that lacks its end, so that the first record
 * of the next file is one of its own. */
enum cv_closing {
    CV_CLOSING_NONE,
    CV_CLOSING_LINE,  /* a newline                                */
    CV_CLOSING_EMPTY, /* a newline and an empty line              */
    CV_CLOSING_ZERO,  /* a zero byte                              */
    CV_CLOSING_ARRAY, /* a bracket and a newline: of every piece but the last one  */
    CV_CLOSING_TEXT,  /* a text that goes with the piece, on this machine only     */
    CV_CLOSINGS,
};
struct cv_part cv_closing_part(enum cv_closing closing);

/* As pread: bytes from `offset` on, which counts from 0 like `begin`. Fewer than `most` at
 * the end of the part or of the file. */
ssize_t cv_part_read(const struct cv_part *part, uint64_t offset, void *out, size_t max);

struct cv_content_hash {
    uint64_t high, low;
};

enum { CV_CONTENT_HASH_TEXT = 33 }; /* 32 hexadecimal digits and a zero */

/* Hashes one content at a time, piece by piece. For one thread at a time. */
struct cv_content_hasher;

/* *out is owned by the caller, and ready for a first content. */
enum cleave_status cv_content_hasher_new(struct cv_content_hasher **out,
                                         struct cleave_error *err);
void cv_content_hasher_free(struct cv_content_hasher *hasher);
/* Add bytes [begin, end) of a file to the content. `name` (may be NULL) is for messages.
 * Fails if the file cannot be read or ends before: then begin again with a reset. */
enum cleave_status cv_content_hasher_add(struct cv_content_hasher *hasher,
                                         const char *name, int fd, uint64_t begin,
                                         uint64_t end, struct cleave_error *err);
enum cleave_status cv_content_hasher_add_part(struct cv_content_hasher *hasher,
                                              const struct cv_part *part,
                                              struct cleave_error *err);
/* The hash of all that was added. What is added next is a new content. */
struct cv_content_hash cv_content_hasher_finish(struct cv_content_hasher *hasher);
void cv_content_hasher_reset(struct cv_content_hasher *hasher);

bool cv_content_hash_equal(struct cv_content_hash a, struct cv_content_hash b);
void cv_content_hash_text(struct cv_content_hash hash, char out[CV_CONTENT_HASH_TEXT]);
/* False if the text is anything but 32 hexadecimal digits. */
bool cv_content_hash_parse(const char *text, struct cv_content_hash *out);

struct cv_writer_thread;
struct cv_writer_thread_into;

struct cv_lazy_reader {
    /* Bytes from `offset` on, at most `most`; 0 of them only at the end. For one thread. */
    enum cleave_status (*read)(struct cv_lazy_reader *well, uint64_t offset, void *out,
                               size_t max, size_t *got, struct cleave_error *err);
    /* Let bytes from `begin` on come out of a pipe (writer_thread.h) until it is stopped: those before
     * `end` are wanted, and if it is `bounded` no others come. If it is `direct` they may go into
     * the pipe of a command instead; else, and if there is none, `into` is NULL. */
    enum cleave_status (*threaded)(struct cv_lazy_reader *well, uint64_t begin,
                                   uint64_t end, const struct cv_writer_thread_into *into,
                                   struct cv_writer_thread **out,
                                   struct cleave_error *err);
    /* Of a flow without a thread (CV_FLOW_HERE), for when there is no room for one: bytes at `at`,
     * which is before its end, borrowed until it is asked again. NULL: there is no such flow. */
    enum cleave_status (*give)(struct cv_writer_thread *threaded, uint64_t at,
                               const char **bytes, size_t *length,
                               struct cleave_error *err);
    void (*stop)(struct cv_writer_thread *threaded);
    bool bounded, direct;
};

enum { CV_PACKED_HEAD = 12 }; /* bytes of the head of a stream of xz */

/* A block that can be decoded by itself. */
struct cv_packed_block {
    uint64_t in, out;             /* where it begins, in the file and decoded */
    uint8_t head[CV_PACKED_HEAD]; /* of xz: what has to stand before it       */
};

#endif
