/* memory_kill.h -- whether the system has killed something for want of memory.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MEMORY_KILL_H
#define CV_MEMORY_KILL_H
#include <stddef.h>
#include <stdint.h>

/* How many processes of our control group the system has killed so far for want of memory;
 * 0 where nobody says. */
uint64_t cv_memory_kills(void);

/* The same by what a file of it says: memory.events, or memory.oom_control of old. */
uint64_t cv_memory_kills_in(const char *text);
/* Where that file is, by what /proc/self/cgroup says, of version 2, or of version 1 if there
 * is no other; empty: nowhere. */
void cv_memory_kills_file(const char *groups, char *out, size_t size);

#endif
