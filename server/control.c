#include "server/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "server/store/backup.h"

#define LINE_SIZE       8192 /* of a request or a reply */
#define REQUEST_MS      5000 /* to send a request in */
#define PROGRESS_MS     200
#define RETRY_MS        200 /* where a client cannot be taken: all descriptors are in use */
#define BACKUP_PREFIX   "backup "
#define PROGRESS_PREFIX "progress "

struct control {
    const char *data_dir;
    struct store *store;
    struct blobs *blobs;
    int listener, wakeup;
    atomic_bool is_stopping;
    pthread_t thread;
};

/* The address of DIR/control.sock by an open folder: a path of any length fits. The folder's descriptor, or
 * -1. */
static int socket_address(const char *dir, struct sockaddr_un *out)
{
    int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/control.sock", folder);
    return folder;
}

/* Closes the folder, and the socket unless is_fine; errno stays. The socket, or -1. */
static int keep_socket(int folder, int fd, bool is_fine)
{
    int why = errno;
    if (folder >= 0)
        (void)close(folder);
    if (!is_fine && fd >= 0)
        (void)close(fd);
    errno = why;
    return is_fine ? fd : -1;
}

/* --- the server's side --- */

struct session {
    struct control *control;
    int fd;
    int64_t said_at_ns;
};

static void say(int fd, const char *line)
{
    /* Who does not listen any more is found by is_there(). */
    if (send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        errno = 0;
}

static bool is_there(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

static bool goes_on(void *ctx, int64_t done, int64_t total)
{
    struct session *s = ctx;
    int64_t now = mono_ns();
    if (atomic_load(&s->control->is_stopping) || !is_there(s->fd))
        return false;
    if (now - s->said_at_ns >= (int64_t)PROGRESS_MS * 1000000) {
        char line[80];
        (void)snprintf(line, sizeof line, PROGRESS_PREFIX "%lld %lld\n", (long long)done, (long long)total);
        say(s->fd, line);
        s->said_at_ns = now;
    }
    return true;
}

static void serve_backup(struct session *s, const char *to_dir)
{
    struct control *c = s->control;
    struct fault fault = FAULT_NONE;
    const struct backup_watch watch = {goes_on, s};
    int64_t start = mono_ns();
    enum err e = backup_online(c->store, c->blobs, c->data_dir, to_dir, &watch, &fault);
    if (e == ERR_OK) {
        log_info("server", "backup into %s: took %lld ms", to_dir,
                 (long long)((mono_ns() - start) / 1000000));
        say(s->fd, "ok\n");
        return;
    }
    char line[sizeof fault.detail + 16];
    (void)snprintf(line, sizeof line, "error %s\n", fault.detail);
    say(s->fd, line);
    log_warning("server", "backup into %s: %s", to_dir, fault.detail);
}

/* The folder's mode keeps others out; should it have been opened to them, this does. */
static bool is_allowed(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

/* One line, without its end. False: none came. */
static bool read_line(struct control *c, int fd, char out[LINE_SIZE])
{
    size_t len = 0;
    int64_t until = mono_ns() + (int64_t)REQUEST_MS * 1000000;
    while (len + 1 < LINE_SIZE) {
        struct pollfd wait[] = {{.fd = fd, .events = POLLIN}, {.fd = c->wakeup, .events = POLLIN}};
        int64_t left_ms = (until - mono_ns()) / 1000000;
        if (left_ms <= 0 || poll(wait, 2, (int)left_ms) <= 0 || wait[1].revents)
            return false;
        ssize_t n = recv(fd, out + len, LINE_SIZE - 1 - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        out[len] = '\0';
        char *end = strchr(out, '\n');
        if (end) {
            *end = '\0';
            return true;
        }
    }
    return false;
}

static void serve(struct control *c, int fd)
{
    struct session s = {.control = c, .fd = fd, .said_at_ns = mono_ns()};
    char line[LINE_SIZE];
    if (!is_allowed(fd))
        say(fd, "error only the user whose server it is, and root, may ask\n");
    else if (!read_line(c, fd, line))
        return;
    else if (str_has_prefix(line, BACKUP_PREFIX "/"))
        serve_backup(&s, line + strlen(BACKUP_PREFIX));
    else
        say(fd, "error the server does not know this request: use the program of the server's own version\n");
}

static void *run(void *arg)
{
    struct control *c = arg;
    while (!atomic_load(&c->is_stopping)) {
        struct pollfd wait[] = {{.fd = c->wakeup, .events = POLLIN}, {.fd = c->listener, .events = POLLIN}};
        if (poll(wait, 2, -1) < 0 || !(wait[1].revents & POLLIN))
            continue;
        int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) { /* the client is still there, and poll would say so at once */
            (void)poll(wait, 1, RETRY_MS);
            continue;
        }
        serve(c, fd);
        (void)close(fd);
    }
    return NULL;
}

static int listen_in(const char *dir)
{
    struct sockaddr_un address;
    int folder = socket_address(dir, &address), fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* What lies there is of a server that was killed: this one has the directory's lock. */
    bool is_fine = folder >= 0 && fd >= 0 && (unlink(address.sun_path) == 0 || errno == ENOENT) &&
                   bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 8) == 0;
    return keep_socket(folder, fd, is_fine);
}

struct control *control_start(const char *data_dir, struct store *store, struct blobs *blobs)
{
    struct control *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->data_dir = data_dir;
    c->store = store;
    c->blobs = blobs;
    c->listener = listen_in(data_dir);
    c->wakeup = c->listener < 0 ? -1 : eventfd(0, EFD_CLOEXEC);
    if (c->wakeup >= 0 && pthread_create(&c->thread, NULL, run, c) == 0) {
        (void)pthread_setname_np(c->thread, "control");
        return c;
    }
    log_warning("server",
                "no backups can be made while this server runs: cannot listen on %s/control.sock: %s",
                data_dir, strerror(errno));
    if (c->listener >= 0)
        (void)close(c->listener);
    if (c->wakeup >= 0)
        (void)close(c->wakeup);
    free(c);
    return NULL;
}

void control_stop(struct control *c)
{
    struct sockaddr_un address;
    if (!c)
        return;
    atomic_store(&c->is_stopping, true);
    (void)eventfd_write(c->wakeup, 1);
    (void)pthread_join(c->thread, NULL);
    int folder = socket_address(c->data_dir, &address);
    if (folder >= 0) {
        (void)unlink(address.sun_path);
        (void)close(folder);
    }
    (void)close(c->listener);
    (void)close(c->wakeup);
    free(c);
}

/* --- the other side --- */

static int connect_to(const char *dir)
{
    struct sockaddr_un address;
    int folder = socket_address(dir, &address), fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_fine =
        folder >= 0 && fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    return keep_socket(folder, fd, is_fine);
}

/* "DONE TOTAL" */
static bool read_progress(const char *text, int64_t *out_done, int64_t *out_total)
{
    char *end;
    *out_done = strtoll(text, &end, 10);
    if (end == text || *end != ' ')
        return false;
    text = end + 1;
    *out_total = strtoll(text, &end, 10);
    return end != text && !*end;
}

static enum err listen_to(FILE *replies, const struct backup_watch *watch, struct fault *fault)
{
    char line[LINE_SIZE];
    int64_t done, total;
    bool goes_on = true;
    while (fgets(line, sizeof line, replies)) {
        line[strcspn(line, "\n")] = '\0';
        if (str_eq(line, "ok"))
            return ERR_OK;
        if (str_has_prefix(line, "error ") && goes_on)
            return fault_set(fault, ERR_UNAVAILABLE, NULL, "The server says: %s.", line + strlen("error "));
        if (str_has_prefix(line, PROGRESS_PREFIX) && goes_on &&
            read_progress(line + strlen(PROGRESS_PREFIX), &done, &total)) {
            goes_on = watch->goes_on(watch->ctx, done, total);
            /* The server sees it, stops, and closes: then the folder is ours. */
            if (!goes_on && shutdown(fileno(replies), SHUT_WR) != 0)
                break;
        }
    }
    if (!goes_on)
        return fault_set(fault, ERR_CANCELLED, NULL, "the copying was given up");
    return fault_set(fault, ERR_UNAVAILABLE, NULL,
                     "The server ended before the backup was complete. Make it again; its log says why it "
                     "ended.");
}

enum err control_backup(const char *data_dir, const char *to_dir, const struct backup_watch *watch,
                        struct fault *fault)
{
    char line[LINE_SIZE];
    int fd = connect_to(data_dir);
    if (fd < 0 && (errno == ENOENT || errno == ECONNREFUSED))
        return ERR_NOT_FOUND;
    if (fd < 0)
        return fault_set(
            fault, ERR_IO, NULL,
            "Cannot reach the server by %.200s/control.sock: %s. Run this as the user whose server "
            "it is.",
            data_dir, strerror(errno));
    int n = snprintf(line, sizeof line, BACKUP_PREFIX "%s\n", to_dir);
    FILE *replies =
        n < (int)sizeof line && send(fd, line, (size_t)n, MSG_NOSIGNAL) == n ? fdopen(fd, "r") : NULL;
    if (!replies) {
        (void)close(fd);
        return fault_set(fault, ERR_IO, NULL, "Cannot ask the server for a backup.");
    }
    enum err e = listen_to(replies, watch, fault);
    (void)fclose(replies);
    return e;
}
