/* Room for what uploads bring. Where as much has gathered as one transaction takes, somebody writes it out
 * before more is taken: a thread of its own does, and the requests that wait are set aside, so that the
 * threads which serve thousands never wait for the disk. */
#ifndef FEDLANE_API_ROOM_H
#define FEDLANE_API_ROOM_H

#include "server/httpd/request.h"
#include "server/store/blobs.h"

struct room; /* thread-safe */

/* One request's place in the queue: all zeros at first. */
struct room_waiter {
    struct request *rq;
    route_handler *step;
    struct room_waiter *previous, *next;
    bool is_waiting, may_pass;
};

enum err room_new(struct blobs *blobs, struct room **out) MUST_CHECK;
void room_free(struct room *r); /* nobody waits any more; NULL is fine */

/* True: there is none now. With `step` NULL the caller is a sink, which takes nothing: it is called again
 * once there is room. Else rq is deferred, and `step` goes on with it. */
bool room_wait(struct room *r, struct room_waiter *w, struct request *rq, route_handler *step);
/* The sink is gone; harmless where it does not wait. */
void room_forget(struct room *r, struct room_waiter *w);

#endif
