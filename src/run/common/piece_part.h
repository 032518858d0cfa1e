/* piece_part.h -- a piece of the input, its bytes in memory, files or lazy readers, and their hash.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PIECE_PART_H
#define CV_PIECE_PART_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <cleave/error.h>
#include "run/common/range_set.h"

struct cv_writer_thread;
struct cv_writer_thread_into;

/* Bytes that are produced on demand, for example by decoding a file. They can be read like a
 * file, from any offset, and at the same time be written into pipes by threads. */
struct cv_lazy_reader {
    /* Read at most `max` bytes at `offset`; 0 bytes only at the end. For one thread at a time. */
    enum cleave_status (*read)(struct cv_lazy_reader *lazy, uint64_t offset, void *out,
                               size_t max, size_t *got, struct cleave_error *err);
    /* Start a thread (pipe_writer.h) that writes the bytes from `begin` into the pipe of a command
     * until it is stopped. Bytes before `end` are wanted; a `bounded` reader writes no others. */
    enum cleave_status (*threaded)(struct cv_lazy_reader *lazy, uint64_t begin,
                                   uint64_t end, const struct cv_writer_thread_into *into,
                                   struct cv_writer_thread **out,
                                   struct cleave_error *err);
    /* For `threaded` with CV_FLOW_HERE, which starts no thread because of a limit: the bytes at
     * `at`, before the end, borrowed until the next call. NULL: not supported. */
    enum cleave_status (*give)(struct cv_writer_thread *threaded, uint64_t at,
                               const char **bytes, size_t *length,
                               struct cleave_error *err);
    void (*stop)(struct cv_writer_thread *threaded);
    bool bounded;
};

/* Bytes in memory, or [begin, end) of a file or of a lazy reader. */
struct cv_part {
    const void *bytes; /* borrowed: end - begin bytes; or NULL */
    bool lasting;      /* the memory never changes, so that a pipe may refer to it */
    int fd;            /* borrowed */
    struct cv_lazy_reader *lazy; /* borrowed: used instead of `fd`; or NULL */
    uint64_t begin, end;
    const char *name; /* borrowed, for messages; may be NULL */
};

/* As pread at `offset`, which counts like `begin`. Fewer than `max` bytes at the end of the part
 * or of the file. */
ssize_t cv_part_read(const struct cv_part *part, uint64_t offset, void *out, size_t max);
/* At least one byte of a file or of a lazy reader, except at the end. */
enum cleave_status cv_part_read_some(const struct cv_part *part, uint64_t at, void *block,
                                     size_t max, size_t *out, struct cleave_error *err);
/* Fail because the part cannot be read at `offset`, with an errno; 0: the file ends there. */
enum cleave_status cv_part_fail(const struct cv_part *part, uint64_t offset, int error,
                                struct cleave_error *err);

/* Bytes that complete the last record of a file, so that the next file begins a new record. */
enum cv_closing {
    CV_CLOSING_NONE,
    CV_CLOSING_LINE,  /* newline */
    CV_CLOSING_EMPTY, /* newline and empty line */
    CV_CLOSING_ZERO,  /* zero byte */
    CV_CLOSING_ARRAY, /* bracket and newline, for all but the last piece */
    CV_CLOSING_TEXT,  /* a text of the piece; on this machine only */
    CV_CLOSINGS,
};
struct cv_part cv_closing_part(enum cv_closing closing);

/* The input of one command: the ranges `header` and `body` of a file, then `closing`. `mate` is a range
 * in the second file of pairs. Ranges without bytes are not given. */
struct cv_piece {
    uint64_t begin, end; /* addresses in the input                                    */
    double units;        /* bytes, or the weight of its records                   */
    size_t file;         /* index of the file                                         */
    const char *name;    /* borrowed: name of the file, for messages  */
    int fd; /* borrowed until all pieces of the file are finished; -1: a stream, */
            /* whose bytes are in memory until the piece is finished      */
    struct cv_lazy_reader *lazy; /* borrowed like fd: to be read instead of it; NULL  */
    const char *header_bytes, *body_bytes;
    struct cv_range header, body; /* offsets in the file                              */
    unsigned skip;                /* bytes before `body` that are not given           */
    enum cv_closing closing;
    const char *closing_text; /* borrowed: for CV_CLOSING_TEXT */
    int mate_fd;              /* -1: none */
    struct cv_lazy_reader *mate_lazy;
    struct cv_range mate;
};

struct cv_part cv_piece_header(const struct cv_piece *piece);
struct cv_part cv_piece_body(const struct cv_piece *piece);
struct cv_part cv_piece_closing(const struct cv_piece *piece);
struct cv_part cv_piece_mate(const struct cv_piece *piece);

enum { CV_PACKED_HEAD = 12 }; /* bytes of the header of an xz stream */

/* A block of a compressed file that can be decoded independently. */
struct cv_packed_block {
    uint64_t in, out;             /* where it begins, in the file and decoded */
    uint8_t head[CV_PACKED_HEAD]; /* xz: the stream header to put before it */
};

/* XXH3-128 detects changes of an input and is as fast as memory. It does not protect against
 * forgery. `xxh128sum` prints the same text. */
struct cv_content_hash {
    uint64_t high, low;
};

enum { CV_CONTENT_HASH_TEXT = 33 }; /* 32 hexadecimal digits and a zero */

/* Hashes one content at a time. For one thread at a time. */
struct cv_content_hasher;

/* *out is owned by the caller. */
enum cleave_status cv_content_hasher_new(struct cv_content_hasher **out,
                                         struct cleave_error *err);
void cv_content_hasher_free(struct cv_content_hasher *hasher);
/* Add bytes [begin, end) of a file. `name`, for messages, may be NULL. After a failure reset the
 * hasher. */
enum cleave_status cv_content_hasher_add(struct cv_content_hasher *hasher,
                                         const char *name, int fd, uint64_t begin,
                                         uint64_t end, struct cleave_error *err);
void cv_content_hasher_add_bytes(struct cv_content_hasher *hasher, const void *bytes,
                                 size_t length);
enum cleave_status cv_content_hasher_add_part(struct cv_content_hasher *hasher,
                                              const struct cv_part *part,
                                              struct cleave_error *err);
/* The hash of all added bytes. The next content begins. */
struct cv_content_hash cv_content_hasher_finish(struct cv_content_hasher *hasher);
void cv_content_hasher_reset(struct cv_content_hasher *hasher);

bool cv_content_hash_equal(struct cv_content_hash a, struct cv_content_hash b);
void cv_content_hash_text(struct cv_content_hash hash, char out[CV_CONTENT_HASH_TEXT]);
/* False: the text is not 32 hexadecimal digits. */
bool cv_content_hash_parse(const char *text, struct cv_content_hash *out);

#endif
