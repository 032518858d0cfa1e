/* magic.h -- inputs that are no text records, told by their first bytes.
 * SPDX-License-Identifier: MIT
 *
 * Compressed files, archives, tables and programs have newlines where it happens: cut there
 * they are nothing any more. Nearly all begin with bytes that no text begins with. */
#ifndef CV_MAGIC_H
#define CV_MAGIC_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>

enum { CV_MAGIC_LOOK = 512 }; /* bytes that are enough to tell */

struct cv_codec;
struct cv_magic;

/* What an input is that begins with these bytes; NULL: nothing of the kind. *undecided, if
 * it is NULL and there are fewer than CV_MAGIC_LOOK of them: more of them may tell. */
const struct cv_magic *cv_magic_find(const char *bytes, size_t length, bool *undecided);
/* Whether it has this name, which may be NULL. */
bool cv_magic_is(const struct cv_magic *magic, const char *name);
/* What decodes it (run/decode/codec.h); NULL: nothing here does. */
const struct cv_codec *cv_magic_codec(const struct cv_magic *magic);

/* The error that it is no text records, with what to type instead. `name` is that of the
 * file, `path` what to call it on a command line, NULL for standard input. */
enum cleave_status cv_magic_refuse(const struct cv_magic *magic, const char *name,
                                   const char *path, struct cleave_error *err);
/* The error that it, or NULL, is not what a splitter is for. */
enum cleave_status cv_magic_refuse_as(const struct cv_magic *magic, const char *name,
                                      const char *path, const char *expected,
                                      const char *split, struct cleave_error *err);
/* The same of what can be decoded, but is fetched by ranges. */
enum cleave_status cv_magic_refuse_fetched(const struct cv_magic *magic, const char *name,
                                           struct cleave_error *err);
/* The same of what is inside another one, which can be decoded. */
enum cleave_status cv_magic_refuse_inside(const struct cv_magic *magic,
                                          const struct cv_magic *around, const char *name,
                                          const char *path, struct cleave_error *err);

#endif
