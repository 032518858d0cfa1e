/* parallel_decode.h -- a compressed input that several threads decode. SPDX-License-Identifier: MIT
 *
 * One thread reads it and cuts it where a decoder can begin (the form's `cut`), each part is a job for a
 * pool of threads, and who asks for the bytes gets them in order. A job begins with its first
 * bytes, so that what comes slowly is not held back. */
#ifndef CV_PARALLEL_DECODE_H
#define CV_PARALLEL_DECODE_H
#include <pthread.h>
#include "run/common/ordered_jobs.h"
#include "run/decode/decode_ahead.h"

struct cv_parallel_decoder;

/* Decoded bytes in a list. */
enum { CV_WIDE_CHUNK = 256 * 1024 };

struct cv_parallel_decode_chunk {
    struct cv_parallel_decode_chunk *next;
    size_t length;
    uint64_t member; /* that the first byte is of: where it begins in the file */
    uint8_t bytes[CV_WIDE_CHUNK];
};

/* Compressed bytes in a list. */
struct cv_parallel_decode_slice {
    struct cv_parallel_decode_slice *next;
    size_t room;
    size_t length, at; /* bytes, and how many of them are read */
    uint8_t bytes[];
};

/* A part of the input, which one decoder decodes. Forms may have more behind it. */
struct cv_parallel_decode_job {
    struct cv_parallel_decoder *parallel;
    uint64_t offset; /* in the file: where it begins                               */
    uint64_t before; /* bytes that the member there has before                     */
    size_t given;    /* bytes of it; the reader's                                  */
    bool made_some;  /* of the input, before it; for the decoder                   */
    bool idle;       /* there is nothing to decode                                 */
    /* What is still to be read; for both the reader and the decoder, by a lock. */
    struct cv_parallel_decode_slice *first, *last; /* owned */
    struct cv_parallel_decode_slice *spent; /* owned: the last one that was read       */
    bool complete;                          /* there will be no more                   */
    int error;                              /* of the input; 0: none                   */
    /* What became of it. */
    bool
        starves; /* there is nothing to be read now, and there are bytes to be given out */
    struct cv_decoder *decoder; /* owned; NULL: not begun                          */
    struct cv_parallel_decode_chunk *chunks,
        *tail;   /* owned                                  */
    size_t made; /* bytes in the chunks                    */
    enum cleave_status status;
    struct cleave_error err;
};

struct cv_parallel_decode_format {
    const struct cv_codec *codec;
    size_t job_size; /* of what has a struct cv_parallel_decode_job first          */
    bool always;     /* also with one thread at work                   */
    size_t batch;    /* compressed bytes that are worth a job, if it can be cut to that */
    size_t max;      /* decoded bytes that a job holds; SIZE_MAX: all     */
    void *(*open)(uint64_t offset); /* of the input in the file; NULL: no memory    */
    void (*close)(void *state);
    /* By the reader: the next bytes, and the end of them, with the error that ended them or 0. False: no
     * more are wanted. */
    bool (*cut)(void *state, struct cv_parallel_decoder *parallel, const uint8_t *bytes,
                size_t length);
    void (*end)(void *state, struct cv_parallel_decoder *parallel, int error);
    /* By who asks: look at what a job has made, before it is given out. NULL: nobody does. */
    void (*look)(void *state, struct cv_parallel_decode_job *job);
    /* ... see to a job that was done, or has failed. NULL: it stands as it is. */
    enum cleave_status (*settle)(void *state, struct cv_parallel_decoder *parallel,
                                 struct cv_parallel_decode_job *job,
                                 struct cleave_error *err);
};

extern const struct cv_parallel_decode_format cv_wide_bgzf, cv_wide_zstd, cv_wide_lz4,
    cv_wide_bzip2;

/* `members`: bytes of two of them are never given out together. */
enum cleave_status cv_wide_open(const struct cv_parallel_decode_format *form,
                                const struct cv_decoder_input *input, unsigned threads,
                                bool members, struct cv_ahead **out,
                                struct cleave_error *err);

/* --- for forms ------------------------------------------------------------------------------ */

/* By the reader: a job that begins at a place of the file. NULL: no memory, which the input then ends
 * with. */
struct cv_parallel_decode_job *cv_wide_begin(struct cv_parallel_decoder *parallel,
                                             uint64_t offset);
/* ... which the pool gets. False: no more are wanted. */
bool cv_wide_give(struct cv_parallel_decoder *parallel,
                  struct cv_parallel_decode_job *job);
/* ... more of its bytes, before or after it was given; false: no more are wanted. */
bool cv_wide_put(struct cv_parallel_decode_job *job, const uint8_t *bytes, size_t length);
void cv_wide_complete(struct cv_parallel_decode_job *job, int error);
/* Decode a job, or as much of it as it may hold. */
enum cleave_status cv_wide_decode(struct cv_parallel_decode_job *job, bool *more,
                                  struct cleave_error *err);

enum { CV_WIDE_IDLE = 20 }; /* decoders and slices that are kept for the next jobs */

struct cv_parallel_decoder {
    struct cv_ahead ahead; /* first */
    const struct cv_parallel_decode_format *form;
    struct cv_decoder_input input;
    void *state; /* owned: the form's, some of it for the reader, some for who asks */
    struct cv_ordered_jobs *pool; /* owned */
    pthread_t reader;
    bool reading;
    bool members; /* are given out apart */
    size_t held_most;
    pthread_mutex_t lock; /* for these, and the bytes of jobs */
    pthread_cond_t more, room;
    size_t held;
    bool stopped;
    bool full;                               /* the reader had no memory */
    struct cv_parallel_decode_chunk *spare;  /* owned */
    struct cv_parallel_decode_slice *slices; /* owned: large ones that were read */
    struct cv_decoder *idle[CV_WIDE_IDLE];   /* owned */
    unsigned nslices, nidle;
    /* For who asks. */
    struct cv_parallel_decode_chunk *chunks, *current; /* owned */
    uint64_t made;                                     /* handed out, or about to be */
    struct cv_parallel_decode_job *failed; /* owned: the reader may still fill it */
    bool over;
    enum cleave_status status;
    struct cleave_error err;
};

/* The bytes of a job that nobody will read are not held any more. */
void cv_wide_forget(struct cv_parallel_decode_job *job);
/* Free a job, and chunks. */
void cv_wide_drop(void *job);
void cv_wide_drop_chunks(struct cv_parallel_decode_chunk *chunks);

#endif
