/* exec_engine.h -- the engine that really does the work. SPDX-License-Identifier: MIT
 *
 * The driver submits what the policy orders, as in a simulation. A chunk is a piece of the
 * source, cut near the size that was asked for; what is left is what the source says. A
 * command that fails is started again on the same piece, as often as allowed; after that
 * the chunk counts as failed and the run goes on, or halts, as was asked.
 *
 * Workers are slots of this machine or of others (host_connection.h). The chunks of a host that
 * is lost are left again, and the policy is told; for a policy that cannot be told, others
 * stand in for the worker. */
#ifndef CV_EXEC_ENGINE_H
#define CV_EXEC_ENGINE_H
#include "engine/engine.h"

/* Its `source` is a struct cv_exec_run, whose poller, gather, source and staff are there. */
extern const struct cv_engine cv_engine_exec;

#endif
