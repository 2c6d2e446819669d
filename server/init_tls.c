#include "server/init_tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/config.h"
#include "common/base/str.h"
#include "common/crypto/certificate.h"

#define MAX_HOSTS 64
#define PATH_SIZE 1024

struct init_options {
    const char *out, *hosts;
    int64_t days;
    bool help;
};

#define AT(member) offsetof(struct init_options, member)
static const struct option_row rows[] = {
    {"out", 'o', OPTION_STRING, AT(out), "DIR", "where the files go (default ./tls)", NULL, 0, 0},
    {"hosts", 'H', OPTION_STRING, AT(hosts), "NAME,NAME,...",
     "names and numeric addresses under which the server is reached (default localhost,127.0.0.1,::1)", NULL,
     0, 0},
    {"days", 0, OPTION_INT, AT(days), "N",
     "how long certificates are valid; the authority ten times as long (default 365)", NULL, 1, 3650},
    {"help", 'h', OPTION_FLAG, AT(help), NULL, "print this and end", NULL, 0, 0},
};
#define NUM_ROWS (sizeof rows / sizeof rows[0])

struct host_list {
    char text[4096];
    const char *items[MAX_HOSTS];
    size_t num;
};

static enum err split_hosts(const char *text, struct host_list *out, struct fault *fault)
{
    if (str_copy(out->text, sizeof out->text, text) != ERR_OK)
        return fault_set(fault, ERR_USAGE, "hosts", "--hosts is longer than %zu bytes.",
                         sizeof out->text - 1);
    char *rest = out->text;
    for (char *item; (item = strsep(&rest, ","));) {
        if (out->num == MAX_HOSTS)
            return fault_set(fault, ERR_USAGE, "hosts", "--hosts names more than %d hosts.", MAX_HOSTS);
        out->items[out->num++] = item;
    }
    return ERR_OK;
}

struct pair {
    char cert[PATH_SIZE], key[PATH_SIZE];
};

static enum err pair_of(const char *dir, const char *name, struct pair *out, struct fault *fault)
{
    int n = snprintf(out->cert, PATH_SIZE, "%s/%s.pem", dir, name);
    int m = snprintf(out->key, PATH_SIZE, "%s/%s.key", dir, name);
    if (n < 0 || m < 0 || n >= PATH_SIZE || m >= PATH_SIZE)
        return fault_set(fault, ERR_USAGE, "out", "--out is too long.");
    return ERR_OK;
}

static bool is_there(const struct pair *p)
{
    return access(p->cert, F_OK) == 0 || access(p->key, F_OK) == 0;
}

/* What is there stays: an authority is used again, so that who trusts it trusts the new certificate, too. */
static enum err take_authority(const struct pair *p, int64_t days, struct certificate **out,
                               struct fault *fault)
{
    if (is_there(p)) {
        printf("kept  %s\n", p->cert);
        return certificate_read(p->cert, p->key, out, fault);
    }
    const struct certificate_wish wish = {
        .use = CERTIFICATE_AUTHORITY, .name = "Fedlane authority", .days = days * 10};
    enum err e = certificate_make(&wish, NULL, out, fault);
    if (e == ERR_OK && (e = certificate_write(*out, p->cert, p->key, fault)) == ERR_OK)
        printf("made  %s  the authority; who has it trusts the server\n", p->cert);
    return e;
}

static enum err issue(const char *dir, const char *file, const struct certificate_wish *wish,
                      const struct certificate *authority, const char *what, struct fault *fault)
{
    struct pair p;
    struct certificate *c = NULL;
    enum err e = pair_of(dir, file, &p, fault);
    if (e != ERR_OK)
        return e;
    if (is_there(&p) && (access(p.cert, F_OK) != 0 || access(p.key, F_OK) != 0))
        return fault_set(fault, ERR_CONFLICT, "out",
                         "Only one of %.300s and its .key is there: remove it, and both are made anew.",
                         p.cert);
    if (is_there(&p)) {
        printf("kept  %s  (remove it and its .key to have it made anew)\n", p.cert);
        return ERR_OK;
    }
    e = certificate_make(wish, authority, &c, fault);
    if (e == ERR_OK && (e = certificate_write(c, p.cert, p.key, fault)) == ERR_OK)
        printf("made  %s  %s\n", p.cert, what);
    certificate_free(c);
    return e;
}

static enum err make_all(const struct init_options *o, const struct host_list *hosts, struct fault *fault)
{
    struct pair ca;
    struct certificate *authority = NULL;
    const struct certificate_wish server = {.use = CERTIFICATE_SERVER,
                                            .name = "fedlane-server",
                                            .hosts = hosts->items,
                                            .num_hosts = hosts->num,
                                            .days = o->days},
                                  client = {
                                      .use = CERTIFICATE_CLIENT, .name = "fedlane-client", .days = o->days};
    if (mkdir(o->out, 0700) != 0 && errno != EEXIST)
        return fault_set(fault, ERR_IO, "out", "cannot make %.300s: %s", o->out, strerror(errno));
    enum err e = pair_of(o->out, "ca", &ca, fault);
    if (e == ERR_OK)
        e = take_authority(&ca, o->days, &authority, fault);
    if (e == ERR_OK)
        e = issue(o->out, "server", &server, authority, "the server's", fault);
    if (e == ERR_OK)
        e = issue(o->out, "client", &client, authority, "a client's, for a server with --client-ca", fault);
    certificate_free(authority);
    return e;
}

static void print_help(void)
{
    printf("fedlane-server init-tls: makes an authority of your own, and certificates for the server and its "
           "clients.\n\n"
           "usage: fedlane-server init-tls [options]\n\n");
    config_print_help(rows, NUM_ROWS);
    printf("\nWhat lies in DIR already is kept: to renew a certificate remove its .pem and .key, run this "
           "again with the "
           "same\n--hosts, and send the server SIGHUP. Keep ca.key away from the machines that need only "
           "ca.pem.\n");
}

enum err init_tls(int argc, char **argv, struct fault *fault)
{
    struct init_options o = {.out = "./tls", .hosts = "localhost,127.0.0.1,::1", .days = 365};
    struct host_list hosts = {.num = 0};
    size_t positional;
    enum err e = config_parse(rows, NUM_ROWS, argc, argv, &o, NULL, 0, &positional, fault);
    if (e == ERR_OK && o.help) {
        print_help();
        return ERR_OK;
    }
    if (e == ERR_OK)
        e = split_hosts(o.hosts, &hosts, fault);
    if (e == ERR_OK)
        e = make_all(&o, &hosts, fault);
    if (e != ERR_OK)
        return e;
    printf("\nfedlane-server --tls-cert %s/server.pem --tls-key %s/server.key\n"
           "curl --cacert %s/ca.pem https://%s:8080/healthz\n",
           o.out, o.out, o.out, hosts.items[0]);
    return ERR_OK;
}
