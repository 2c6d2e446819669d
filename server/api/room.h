/* Room for what uploads bring. Where as much waits for the file as all of them may hold together, no more is
 * taken: a thread waits until it is written, and the requests that wait are set aside, so that the threads
 * which serve thousands never wait for the disk. */
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
    bool is_waiting, has_waited;
    enum err result; /* of the wait */
};

enum err room_new(struct blobs *blobs, struct room **out) MUST_CHECK;
void room_free(struct room *r); /* nobody waits any more; NULL is fine */

/* *out_must_wait: there is none now. With `step` NULL the caller is a sink, which takes nothing: it is called
 * again once there is room. Else rq is deferred, and `step` goes on with it. An error: it waited, and the
 * disk takes nothing. */
enum err room_wait(struct room *r, struct room_waiter *w, struct request *rq, route_handler *step,
                   bool *out_must_wait) MUST_CHECK;
/* The sink is gone; harmless where it does not wait. */
void room_forget(struct room *r, struct room_waiter *w);

#endif
