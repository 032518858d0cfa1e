/* stderr_marker.c -- the line by which a worker begins on standard error. SPDX-License-Identifier: MIT */
#include "run/wire/stderr_marker.h"

#include <stdio.h>
#include <sys/random.h>

uint64_t cv_begin_mark_key(void)
{
    uint64_t key = 0;

    /* It need not be a secret: without randomness, a line that logins do not write has to do. */
    if (getrandom(&key, sizeof key, 0) != (ssize_t)sizeof key || key == 0)
        key = 1;
    return key;
}

void cv_begin_mark(uint64_t key, char out[CV_BEGIN_MARK_ROOM])
{
    snprintf(out, CV_BEGIN_MARK_ROOM, "[cleave worker %016llx]\n",
             (unsigned long long)key);
}
