#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "common/base/log.h"
#include "common/crypto/random.h"
#include "config.h"
#include "server/backup.h"
#include "server/compact.h"
#include "server/control.h"
#include "server/data_dir.h"
#include "server/init_tls.h"
#include "server/login_link.h"
#include "server/options.h"
#include "server/restore.h"
#include "server/service.h"

#define EXIT_FAILED 1
#define EXIT_USAGE  4
#define DRAIN_MS    10000

static int complain(const struct fault *fault)
{
    fprintf(stderr, "fedlane-server: %s\n", fault->detail[0] ? fault->detail : err_name(fault->err));
    return fault->err == ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

/* Each parked device costs a descriptor. */
static void raise_open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_warning("server", "cannot raise the number of open files: %s", strerror(errno));
}

/* Blocked in every thread that is made from here on; main waits for them. */
static void take_signals(bool has_certificates, sigset_t *out)
{
    sigemptyset(out);
    sigaddset(out, SIGTERM);
    sigaddset(out, SIGINT);
    if (has_certificates) /* to read anew; else a terminal that closes does what it does to others */
        sigaddset(out, SIGHUP);
    pthread_sigmask(SIG_BLOCK, out, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a full disk to us: 507, not death */
}

static enum err open_service(const struct options *o, struct service **out, struct fault *fault)
{
    struct service_config config = {.clock = clock_system(),
                                    .entropy = entropy_system(),
                                    .heartbeat_ms = (int64_t)(o->heartbeat_s * 1000),
                                    .data_dir = o->data_dir,
                                    .auth_failures = o->auth_failures,
                                    .web_dir = o->web_dir};
    enum err e = data_dir_open(o->data_dir, &config.store, &config.blobs, fault);
    return e == ERR_OK ? service_open(&config, out, fault) : e;
}

static enum err start(const struct options *o, struct service *s, struct fault *fault)
{
    const struct service_listen listen = {
        .address = o->address,
        .port = o->port,
        .threads = (unsigned)o->threads,
        .connections_per_address = (unsigned)o->connections_per_address,
        .tls = {.cert = o->tls_cert, .key = o->tls_key, .client_ca = o->client_ca}};
    enum err e = data_dir_tokens(o->data_dir, service_store(s), service_core(s), fault);
    return e == ERR_OK ? service_listen(s, &listen, fault) : e;
}

static void reload(struct service *s, const struct options *o)
{
    struct fault fault = FAULT_NONE;
    if (service_reload_tls(s, &fault) == ERR_OK)
        log_info("server", "SIGHUP: new connections get the certificate that is now in %s", o->tls_cert);
    else
        log_error("server", "SIGHUP: the certificates stay as they were: %s", fault.detail);
}

/* The signal that ends the server. */
static int wait_for_end(const sigset_t *signals, struct service *s, const struct options *o)
{
    int got = 0;
    for (;;) {
        if (sigwait(signals, &got) != 0)
            continue;
        if (got != SIGHUP)
            return got;
        reload(s, o);
    }
}

static int serve(const struct options *o)
{
    struct fault fault = FAULT_NONE;
    struct service *s = NULL;
    sigset_t signals;
    take_signals(o->tls_cert, &signals);
    enum err e = open_service(o, &s, &fault);
    if (e != ERR_OK)
        return complain(&fault);
    /* First, so that whoever sees the server answer finds the socket. */
    struct control *control = control_start(o->data_dir, service_store(s), service_blobs(s));
    if (start(o, s, &fault) != ERR_OK) {
        control_stop(control);
        service_stop(s, 0);
        return complain(&fault);
    }
    int url_lock = data_dir_put_url(o->data_dir, service_url(s));
    printf("listening on %s\n", service_url(s));
    printf("dashboard: %s/  (to sign in: fedlane-server login-link --data-dir %s)\n", service_url(s),
           o->data_dir);
    int got = wait_for_end(&signals, s, o);
    data_dir_drop_url(o->data_dir, url_lock);
    control_stop(control);
    log_info("server", "%s: draining", got == SIGINT ? "SIGINT" : "SIGTERM");
    if (!service_stop(s, DRAIN_MS))
        log_warning("server", "some requests took longer than %d s and were cut off", DRAIN_MS / 1000);
    log_info("server", "stopped");
    return 0;
}

static const struct {
    const char *name;
    enum err (*run)(int argc, char **argv, struct fault *fault);
} commands[] = {{"backup", backup_command},
                {"compact", compact_command},
                {"restore", restore_command},
                {"login-link", login_link},
                {"init-tls", init_tls}};

int main(int argc, char **argv)
{
    struct fault fault = FAULT_NONE;
    struct options o;
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1, &fault) == ERR_OK ? 0 : complain(&fault);
    if (options_read(argc, argv, &o, &fault) != ERR_OK)
        return complain(&fault);
    if (o.help) {
        options_print_help();
        return 0;
    }
    if (o.version) {
        printf("fedlane-server %s\n", PACKAGE_VERSION);
        return 0;
    }
    /* Whoever reads this in a file sees where the tokens are before anybody is answered. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    log_init(o.level, o.format);
    umask(0077);
    raise_open_files();
    return serve(&o);
}
