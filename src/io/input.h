/* input.h -- a whole input file in memory. SPDX-License-Identifier: MIT */
#ifndef CV_INPUT_H
#define CV_INPUT_H
#include <stddef.h>
#include <stdio.h>
#include <cleave/error.h>

/* The name of the input in messages: the path, or "<stdin>" for "-". */
const char *cv_input_name(const char *path);

/* Open for reading; "-" is standard input. */
enum cleave_status cv_input_open(const char *path, FILE **out, struct cleave_error *err);
void cv_input_close(FILE *file);

/* Read all of `path`, at most `limit` bytes. *out is owned by the caller (free) and has a
 * 0 after its last byte. */
enum cleave_status cv_input_read(const char *path, size_t limit, char **out,
                                 size_t *out_length, struct cleave_error *err);

#endif
