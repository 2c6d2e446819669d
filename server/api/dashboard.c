/* GET / and GET /assets/{file}: the dashboard, carried in the program (web/README.md). */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "common/base/embed.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "server/api/context.h"
#include "server/api/handlers.h"

#define PAGE_POLICY                                                                                          \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "                  \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

extern const struct embedded_file web_files[];
extern const size_t web_files_count;

static const struct asset {
    const char *name, *media_type;
} page = {"index.html", "text/html; charset=utf-8"}, assets[] = {
                                                         {"app.css", "text/css; charset=utf-8"},
                                                         {"app.js", "text/javascript; charset=utf-8"},
                                                         {"chart.js", "text/javascript; charset=utf-8"},
};

/* The file of this name and ending, as "app.js" and ".gz". */
static const struct embedded_file *embedded(const char *name, const char *ending)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < web_files_count; i++)
        if (strncmp(web_files[i].name, name, n) == 0 && str_eq(web_files[i].name + n, ending))
            return &web_files[i];
    return NULL;
}

static enum err reply_embedded(struct request *rq, const struct asset *asset, struct fault *fault)
{
    char sha256[SHA256_HEX_SIZE];
    const struct embedded_file *packed =
        request_accepts_coding(rq, "gzip") ? embedded(asset->name, ".gz") : NULL;
    const struct embedded_file *file = packed ? packed : embedded(asset->name, "");
    if (!file)
        return fault_set(fault, ERR_NOT_FOUND, NULL,
                         "This server was built without %s. Install libjs-chart.js and build it anew.",
                         asset->name);
    enum err e = reply_header(rq, "Vary", "Accept-Encoding");
    if (e == ERR_OK && packed)
        e = reply_header(rq, "Content-Encoding", "gzip");
    if (e == ERR_OK)
        e = sha256_hex(file->data, file->size, sha256);
    return e == ERR_OK ? reply_static(rq, asset->media_type, file->data, file->size, sha256) : e;
}

/* With --web-dir: as the file is now, so that a reload shows what was just changed. */
static enum err reply_from_dir(struct request *rq, const char *dir, const struct asset *asset,
                               struct fault *fault)
{
    char path[4096], sha256[SHA256_HEX_SIZE];
    int n = snprintf(path, sizeof path, "%s/%s", dir, asset->name);
    if (n < 0 || (size_t)n >= sizeof path)
        return fault_set(fault, ERR_NOT_FOUND, NULL, "The path of --web-dir is too long.");
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) /* a FIFO would hold up everybody */
        return fault_set(fault, ERR_NOT_FOUND, NULL,
                         "There is no file %s in the folder of --web-dir. Run `make web-assets`.",
                         asset->name);
    struct buf text = BUF_INIT(16 * MIB);
    enum err e = file_read(path, &text, fault);
    if (e == ERR_OK)
        e = sha256_hex(text.data, text.len, sha256);
    if (e == ERR_OK)
        e = reply_bytes(rq, 200, asset->media_type, text.data, text.len);
    if (e == ERR_OK)
        e = reply_etag(rq, sha256);
    buf_release(&text);
    return e;
}

static enum err reply_asset(struct api *api, struct request *rq, const struct asset *asset,
                            struct fault *fault)
{
    enum err e = reply_header(rq, "Content-Security-Policy", PAGE_POLICY);
    if (e == ERR_OK)
        e = reply_header(rq, "Cache-Control", "no-cache");
    if (e != ERR_OK)
        return e;
    return api->web_dir ? reply_from_dir(rq, api->web_dir, asset, fault) : reply_embedded(rq, asset, fault);
}

enum err api_page(void *ctx, struct request *rq, struct fault *fault)
{
    return reply_asset(ctx, rq, &page, fault);
}

enum err api_asset(void *ctx, struct request *rq, struct fault *fault)
{
    const char *name = request_param(rq, "file");
    for (size_t i = 0; i < sizeof assets / sizeof assets[0]; i++)
        if (str_eq(assets[i].name, name))
            return reply_asset(ctx, rq, &assets[i], fault);
    return fault_set(fault, ERR_NOT_FOUND, NULL, "The dashboard has no such file; it is at /.");
}
