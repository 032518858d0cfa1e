/* content_hash.h -- know bytes again. SPDX-License-Identifier: MIT
 *
 * XXH3-128: as fast as memory, so that every chunk can be hashed. It tells an input that
 * was changed from one that was not; it is no defence against someone who wants two
 * inputs to look the same. The text is what `xxh128sum` prints. */
#ifndef CV_CONTENT_HASH_H
#define CV_CONTENT_HASH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/common/piece_part.h"

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

#endif
