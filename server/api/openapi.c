/* GET /openapi.json: docs/openapi.json, carried in the program. */
#include <string.h>
#include "common/base/embed.h"
#include "server/api/context.h"
#include "server/api/handlers.h"

extern const struct embedded_file openapi_files[];

enum err api_openapi(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    const struct embedded_file *file = &openapi_files[0];
    char sha256[SHA256_HEX_SIZE];
    enum err e = sha256_hex(file->data, file->size, sha256);
    return e == ERR_OK ? reply_static(rq, MEDIA_JSON, file->data, file->size, sha256) : e;
}
