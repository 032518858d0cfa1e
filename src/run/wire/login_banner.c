/* login_banner.c -- what login scripts print before the first frame. SPDX-License-Identifier: MIT */
#include "run/wire/login_banner.h"

#include <string.h>

#include "run/wire/frame.h"

size_t cv_preamble_length(const unsigned char *bytes, size_t length)
{
    const unsigned char *frame =
        memmem(bytes, length, CV_FRAME_MAGIC, strlen(CV_FRAME_MAGIC));

    return frame != NULL ? (size_t)(frame - bytes) : length;
}
