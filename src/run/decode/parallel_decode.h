/* parallel_decode.h -- a compressed input that several threads decode. SPDX-License-Identifier: MIT
 *
 * A reader thread cuts the input where a decoder can begin (cut of the format). Each part is a
 * job for a pool of threads; the consumer gets their output in order. A job is submitted with its
 * first bytes, so that slow input is not delayed. */
#ifndef CV_PARALLEL_DECODE_H
#define CV_PARALLEL_DECODE_H
#include "run/decode/decode_ahead.h"

struct cv_decode_slice;
struct cv_parallel_decoder;

enum { CV_DECODE_CHUNK = 256 * 1024 };

/* Decoded bytes, in a list. */
struct cv_decode_chunk {
    struct cv_decode_chunk *next;
    size_t length;
    uint64_t member; /* offset in the file of the member of the first byte */
    uint8_t bytes[CV_DECODE_CHUNK];
};

/* A part of the input, for one decoder. A format may put more members after it. */
struct cv_decode_job {
    struct cv_parallel_decoder *parallel;
    uint64_t offset; /* in the file                                           */
    uint64_t before; /* bytes of its first member that precede it             */
    size_t given;    /* bytes so far; for the reader                          */
    bool made_some;  /* a job precedes it; for the decoder                    */
    bool idle;       /* there is nothing to decode                            */
    /* Input, guarded by the lock of the decoder. */
    struct cv_decode_slice *first, *last; /* owned: not read yet     */
    struct cv_decode_slice *spent;        /* owned: read last        */
    bool complete;                        /* all input was added     */
    int error;                            /* errno of a failed read, or 0 */
    /* Output. */
    bool starved; /* stopped for lack of input, with output to be given out */
    struct cv_decoder *decoder;            /* owned; NULL: not begun */
    struct cv_decode_chunk *chunks, *tail; /* owned */
    size_t made;                           /* bytes in the chunks */
    enum cleave_status status;
    struct cleave_error err;
};

struct cv_parallel_format {
    size_t job_size; /* size of a structure that begins with struct cv_decode_job */
    size_t batch;    /* input bytes of a job, at least, if it can be cut         */
    size_t max;      /* output bytes that a job may hold; SIZE_MAX: any number   */
    /* `offset`: where the input begins in the file. NULL: no memory. */
    void *(*open)(const struct cv_codec *codec, size_t batch, uint64_t offset);
    void (*close)(void *state);
    /* Called by the reader: add input to jobs. False: stop reading. */
    bool (*cut)(void *state, struct cv_parallel_decoder *parallel, const uint8_t *bytes,
                size_t length);
    /* Called by the reader at the end of the input; error: errno of a failed read, or 0. */
    void (*end)(void *state, struct cv_parallel_decoder *parallel, int error);
    /* Called by the consumer for a job that has ended or failed: its final status. */
    enum cleave_status (*settle)(void *state, struct cv_parallel_decoder *parallel,
                                 struct cv_decode_job *job, struct cleave_error *err);
};

/* Frames are for BGZF and zstd. */
extern const struct cv_parallel_format cv_parallel_frames, cv_parallel_bzip2;

/* `members`: never give out bytes of two members together. */
enum cleave_status cv_parallel_open(const struct cv_parallel_format *format,
                                    const struct cv_codec *codec,
                                    const struct cv_decoder_input *input,
                                    unsigned threads, bool members, struct cv_ahead **out,
                                    struct cleave_error *err);

/* --- for formats ---------------------------------------------------------------------------- */

/* Take the next job out of the order, for a format that joins it to the job before. NULL: none. */
void *cv_parallel_take(struct cv_parallel_decoder *parallel);

/* NULL: no memory; the consumer will report it at the end of the input. */
struct cv_decode_job *cv_decode_job_new(struct cv_parallel_decoder *parallel,
                                        uint64_t offset);
/* Pass the job to the pool. False: the decoder was stopped. */
bool cv_decode_job_submit(struct cv_parallel_decoder *parallel,
                          struct cv_decode_job *job);
/* Add input, before or after the job was submitted. False: stopped, or no memory. */
bool cv_decode_job_add(struct cv_decode_job *job, const uint8_t *bytes, size_t length);
void cv_decode_job_complete(struct cv_decode_job *job, int error);
/* Decode until the job ends, is starved (*more), or holds `max` bytes (*more). */
enum cleave_status cv_decode_job_run(struct cv_decode_job *job, bool *more,
                                     struct cleave_error *err);
/* The input bytes of the job; it was added by one call. NULL: none was added. */
const uint8_t *cv_decode_job_input(const struct cv_decode_job *job);
/* Free a job that was not submitted or was taken; may be NULL. */
void cv_decode_job_free(void *job);
void cv_decode_chunks_free(struct cv_decode_chunk *chunks);

#endif
