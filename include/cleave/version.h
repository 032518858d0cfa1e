/* version.h -- the version of the library. SPDX-License-Identifier: MIT */
#ifndef CLEAVE_VERSION_H
#define CLEAVE_VERSION_H
#include <cleave/error.h>

#define CLEAVE_VERSION "0.2.0"
#define CLEAVE_VERSION_MAJOR 0
#define CLEAVE_VERSION_MINOR 2
#define CLEAVE_VERSION_PATCH 0

CLEAVE_BEGIN_C
/* CLEAVE_VERSION of the library that was linked: borrowed, static. */
const char *cleave_version(void);
CLEAVE_END_C
#endif
