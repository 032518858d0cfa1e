/* fuzz_simgrid_wire.c -- anything that cleave-simgrid could say. SPDX-License-Identifier: MIT
 *
 * The first byte selects the request, the second the number of workers; the rest comes
 * over the socket. If it is shorter than an answer, it is extended to one, so that not
 * only lengths are tried. With BY_FIELDS in the first byte every five of the rest say an
 * event by its fields, whatever struct it travels in. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cleave/platform.h>
#include "sim/simgrid/simgrid_engine.h"
#include "fuzz_target.h"

enum { EVENTS, STAR, PAIRS, TASKS };
enum { SAID_MOST = 8192, BY_FIELDS = 0x80, FIELDS = 5 };

#define require(truth) require_at(truth, #truth, __LINE__)

static void require_at(int truth, const char *text, int line)
{
    if (truth)
        return;
    fprintf(stderr, "fuzz_simgrid_wire.c:%d: %s\n", line, text);
    abort();
}

static void hear_events(struct cv_simgrid_child *child, uint32_t nodes)
{
    struct cv_simgrid_bounds bounds = { nodes, nodes, 0 };
    struct cleave_error err = { .text = "" };
    struct cleave_event event;
    bool any = true;

    while (any &&
           cv_simgrid_hear_event(child, &bounds, &event, &any, &err) == CLEAVE_OK) {
        if (!any)
            return;
        require(event.kind == CLEAVE_ENDED || event.worker < nodes);
        require(isfinite(event.time_s) && event.time_s >= bounds.now_s);
        bounds.now_s = event.time_s;
    }
    require(strlen(err.text) < sizeof err.text && err.status != CLEAVE_OK);
}

static void hear_star(struct cv_simgrid_child *child)
{
    struct cleave_error err = { .text = "" };
    struct cleave_platform *platform = NULL;

    if (cv_simgrid_hear_star(child, &(struct cleave_simgrid){ 0 }, CLEAVE_PORT_ONE,
                             &platform, &err) == CLEAVE_OK) {
        require(cleave_platform_nworkers(platform) > 0);
        for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++) {
            const struct cleave_worker *worker = &cleave_platform_workers(platform)[w];

            require(isfinite(worker->speed_ups) && worker->speed_ups > 0);
            require(strlen(cleave_platform_worker_name(platform, w)) > 0);
        }
        cleave_platform_free(platform);
    } else {
        require(platform == NULL && strlen(err.text) < sizeof err.text);
    }
}

static void hear_pairs(struct cv_simgrid_child *child)
{
    struct cleave_pair_costs costs;
    struct cleave_error err = { .text = "" };

    if (cv_simgrid_hear_pairs(child, &costs, &err) == CLEAVE_OK)
        require(isfinite(costs.mean_s) && costs.mean_s >= 0);
    else
        require(strlen(err.text) < sizeof err.text);
}

static size_t say_events(const uint8_t *data, size_t size, unsigned char *said)
{
    size_t length = 0;

    for (; size >= FIELDS && length + sizeof(struct cv_wire_answer) <= SAID_MOST;
         data += FIELDS, size -= FIELDS) {
        const struct cv_wire_answer answer = {
            .reply = CV_WIRE_EVENT,
            .event = { .kind = (enum cleave_event_kind)data[0],
                       .worker = data[1],
                       .chunk = data[2],
                       .units = data[3],
                       .time_s = data[4] },
        };

        memcpy(said + length, &answer, sizeof answer);
        length += sizeof answer;
    }
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_simgrid_child *child = NULL;
    unsigned char said[SAID_MOST] = { 0 };
    size_t length = size > 2 ? size - 2 : 0;
    int pair[2];

    if (size < 2)
        return 0;
    if (length > sizeof said)
        length = sizeof said;
    if ((data[0] & BY_FIELDS) != 0)
        length = say_events(data + 2, length, said);
    else
        memcpy(said, data + 2, length);
    if (length < sizeof(struct cv_wire_answer))
        length = sizeof(struct cv_wire_answer);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    require(send(pair[1], said, length, MSG_NOSIGNAL) == (ssize_t)length);
    close(pair[1]);
    require(cv_simgrid_adopt(pair[0], &child, NULL) == CLEAVE_OK);
    if ((data[0] & BY_FIELDS) != 0 || data[0] % TASKS == EVENTS)
        hear_events(child, 1 + data[1] % 8);
    else if (data[0] % TASKS == STAR)
        hear_star(child);
    else
        hear_pairs(child);
    cv_simgrid_stop(child);
    return 0;
}
