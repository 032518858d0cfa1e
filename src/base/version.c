/* version.c -- the version that was built. SPDX-License-Identifier: MIT */
#include <cleave/version.h>

const char *cleave_version(void)
{
    return CLEAVE_VERSION;
}
