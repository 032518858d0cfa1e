/* fuzz_gzip_ahead.c -- any bytes as gzip, by one thread and by several. SPDX-License-Identifier: MIT
 *
 * The first byte says how large pieces are and how many threads there are. Bytes, messages and
 * whether the end is inside a member are the same; and what libdeflate can decode, if it is one
 * member and nothing else, is that. */
#include <libdeflate.h>

#include "../gzip_twice.h"
#include "fuzz_target.h"

enum { MOST = 4 << 20 }; /* decoded: a few bytes can be very many */

static void compare(const uint8_t *data, size_t size, const struct gzip_made *made)
{
    static struct libdeflate_decompressor *other; /* kept: to get megabytes takes long */
    static uint8_t bytes[MOST];
    size_t used, length;

    if (other == NULL)
        other = libdeflate_alloc_decompressor();
    require(other != NULL);
    if (libdeflate_gzip_decompress_ex(other, data, size, bytes, MOST, &used, &length) ==
            LIBDEFLATE_SUCCESS &&
        used == size && made->status == CLEAVE_OK)
        require(made->length == length &&
                (length == 0 || memcmp(made->bytes, bytes, length) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gzip_made made;
    int fd;

    if (size < 2)
        return 0;
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    require(gzip_differs(fd, size - 1, (size_t)64 * (1 + data[0] / 4u), 2 + data[0] % 4u,
                         MOST, &made) == NULL);
    if (made.length < MOST)
        compare(data + 1, size - 1, &made);
    free(made.bytes);
    close(fd);
    return 0;
}
