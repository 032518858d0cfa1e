/* stream_reader.h -- an input that comes once, read ahead for those who look at places that are not reached yet.
 * SPDX-License-Identifier: MIT
 *
 * A thread reads it, as far ahead of who takes the bytes as there is room. Places count from 0. */
#ifndef CV_STREAM_READER_H
#define CV_STREAM_READER_H
#include "run/decode/decoder.h"

struct cv_stream_reader;

/* With room for so many bytes. *out is owned by the caller. */
enum cleave_status cv_stream_reader_open(const struct cv_decoder_input *input,
                                         size_t room, struct cv_stream_reader **out,
                                         struct cleave_error *err);
/* As read(2), by one thread: the next bytes, which others see a while longer. */
ssize_t cv_stream_reader_read(void *reader, void *to, size_t max);
/* By any thread, without waiting: as many bytes from a place on as are there. */
size_t cv_stream_reader_look(struct cv_stream_reader *reader, uint64_t at, void *to,
                             size_t max);
/* How many have come; *whole: there will be no more. */
uint64_t cv_stream_reader_come(struct cv_stream_reader *reader, bool *whole);
/* A read of the input that waits must have been made to end. */
void cv_stream_reader_free(struct cv_stream_reader *reader);

#endif
