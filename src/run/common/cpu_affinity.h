/* cpu_affinity.h -- which processors the commands of each worker run on. SPDX-License-Identifier: MIT
 *
 * Workers get cores in this order: fast ones before slow ones (efficiency cores, whose
 * cpu_capacity is less, or which /sys/devices/cpu_atom lists), a core's first hardware thread
 * before its second, and the NUMA nodes in turn. More workers than processors begin again with
 * the first. */
#ifndef CV_CPU_AFFINITY_H
#define CV_CPU_AFFINITY_H
#include <sched.h>
#include <stdint.h>
#include <cleave/execute.h>

/* For `count` workers, which of the processors `usable` each may run on. CLEAVE_PIN_CORES: a
 * core, with all its hardware threads if there are as many cores as workers, else one thread;
 * CLEAVE_PIN_NODES: all of the NUMA node of that core. The machine is described by the
 * sys/devices below `root` ("" for this one); what is not said there counts as one node, one
 * thread a core, and as fast as the others. */
enum cleave_status cv_cpu_affinity_make(const char *root, const cpu_set_t *usable,
                                        enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err);
/* The same on this machine. */
enum cleave_status cv_cpu_affinity_here(enum cleave_pin how, uint32_t count,
                                        cpu_set_t *out, struct cleave_error *err);

#endif
