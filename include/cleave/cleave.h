/* cleave.h -- everything public in one include. SPDX-License-Identifier: MIT */
#ifndef CLEAVE_CLEAVE_H
#define CLEAVE_CLEAVE_H
#include <cleave/error.h>
#include <cleave/execute.h>
#include <cleave/platform.h>
#include <cleave/policy.h>
#include <cleave/reduce.h>
#include <cleave/run.h>
#include <cleave/simgrid.h>
#include <cleave/stream_plan.h>
#include <cleave/streams.h>
#include <cleave/trace.h>
#include <cleave/version.h>
#endif
