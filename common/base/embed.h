/* A file that build-aux/embed put into the program. */
#ifndef FEDLANE_BASE_EMBED_H
#define FEDLANE_BASE_EMBED_H

#include <stddef.h>

struct embedded_file {
    const char *name;          /* its path below the folder it was taken from: "js/app.js" */
    const unsigned char *data; /* a NUL follows the last byte */
    size_t size;
};

#endif
