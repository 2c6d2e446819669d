/* What the files behind server.h share. */
#ifndef FEDLANE_TESTS_FUZZ_SERVER_IMPL_H
#define FEDLANE_TESTS_FUZZ_SERVER_IMPL_H

#include "server/api/api.h"
#include "server/httpd/internal.h"
#include "tests/fuzz/server.h"

#define FUZZ_ID_SIZE 80 /* an id, a secret or a code, with its NUL */

struct fuzz_state {
    struct store *store;
    struct blobs *blobs;
    struct core *core;
    struct api *api;
    struct waiters *waiters;
    struct clock_fake clock;
    uint64_t entropy;
    struct httpd httpd;
    struct loop loop;
    int sockets[2]; /* what request_client_gone() asks: nobody ever closes them */
    bool wants_advance;
    fuzz_fault_hook *hook; /* NULL: nothing fails */
    char ids[128][FUZZ_ID_SIZE];
};
extern struct fuzz_state fuzz;
extern const char *const fuzz_secrets[CALLERS]; /* NULL: the caller has none, or another one each time */

/* Around all that the server does: outside of it nothing may fail. */
void fuzz_within(bool begins);
/* What the conductor's thread does. */
void fuzz_advance(void);
/* Makes who and what is there at first. */
void fuzz_populate(void);

#endif
