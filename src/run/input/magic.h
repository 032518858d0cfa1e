/* magic.h -- formats that are not text records, by their first bytes.
 * SPDX-License-Identifier: MIT
 *
 * Compressed files, archives, tables and programs have newlines by chance: pieces that are cut there
 * are useless. Nearly all of them begin with bytes that no text begins with. */
#ifndef CV_MAGIC_H
#define CV_MAGIC_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

enum { CV_MAGIC_LOOK = 512 }; /* bytes that are enough to decide */

struct cv_codec;
struct cv_magic;

/* The format of an input that begins with these bytes; NULL: none of them. *undecided: it is NULL,
 * there are fewer than CV_MAGIC_LOOK bytes, and more bytes may tell. */
const struct cv_magic *cv_magic_find(const char *bytes, size_t length, bool *undecided);
/* Whether it has this name, which may be NULL. */
bool cv_magic_is(const struct cv_magic *magic, const char *name);
/* The format of run/decode; NULL: it cannot be decoded. */
const struct cv_codec *cv_magic_codec(const struct cv_magic *magic);
/* Fails if an input does not have the format that was asked for. */
enum cleave_status cv_magic_check_codec(const struct cv_codec *codec, const char *bytes,
                                        size_t length, const char *name,
                                        struct cleave_error *err);

/* The name of the format of these bytes, also within gzip, if its files cannot be concatenated; NULL:
 * they can, or the format is unknown. */
const char *cv_magic_container(const char *bytes, size_t length);

/* The error that an input is not text records, with advice. `around` is the compressed format that
 * it was found in, or NULL. `path` is for the advice; NULL: standard input. */
enum cleave_status cv_magic_refuse(const struct cv_magic *magic,
                                   const struct cv_magic *around, const char *name,
                                   const char *path, struct cleave_error *err);
/* The error that an input, of the format `magic` or unknown (NULL), is not for this splitter. */
enum cleave_status cv_magic_refuse_as(const struct cv_magic *magic, const char *name,
                                      const char *path, const char *expected,
                                      const char *split, struct cleave_error *err);
/* The error that an input of records of a fixed size begins as a compressed one. */
enum cleave_status cv_magic_refuse_fixed(const struct cv_codec *codec, const char *name,
                                         struct cleave_error *err);
/* The error that a compressed input cannot be fetched by ranges. */
enum cleave_status cv_magic_refuse_fetched(const struct cv_magic *magic, const char *name,
                                           struct cleave_error *err);

#endif
