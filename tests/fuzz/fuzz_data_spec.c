/* The object "data" of a run spec or of a worker, with the files that it names. Input: the object; then for
 * each file a line "--- NAME" and its bytes, NAME being one of those below. Paths in the object are relative
 * to their folder. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/json/json_spec.h"
#include "tests/fuzz/data.h"

/* A spec may ask for more than a fuzzer has: 64 GiB of synthetic examples are no mistake. */
#define MOST_OF_ANYTHING 2000

static const char *const names[] = {"a.csv",
                                    "b.csv",
                                    "x.npy",
                                    "y.npy",
                                    "z.npz",
                                    "leaf.json",
                                    "images",
                                    "labels",
                                    "dir/a.csv",
                                    "dir/b.csv",
                                    "dir/c.npz",
                                    "split/train/a.csv",
                                    "split/test/a.csv",
                                    "dir/a.txt",
                                    "dir/b.txt",
                                    "v"};
#define NUM_NAMES (sizeof names / sizeof *names)

static void enter_folder(void)
{
    static bool is_entered;
    if (is_entered)
        return;
    PROVE(chdir(fuzz_folder()) == 0 && !mkdir("dir", 0700) && !mkdir("split", 0700));
    PROVE(!mkdir("split/train", 0700) && !mkdir("split/test", 0700));
    is_entered = true;
}

static bool is_small(json_t *value)
{
    size_t i;
    const char *key;
    json_t *member;
    if (json_is_number(value))
        return json_number_value(value) <= MOST_OF_ANYTHING;
    json_object_foreach(value, key, member)
    {
        if (!is_small(member))
            return false;
    }
    json_array_foreach(value, i, member)
    {
        if (!is_small(member))
            return false;
    }
    return true;
}

/* All of Fashion-MNIST for each input is too slow, and paths out of the folder are no input. */
static bool is_suitable(json_t *spec)
{
    const char *source = json_string_value(json_object_get(spec, "source"));
    const char *key;
    json_t *value;
    if (!is_small(spec) || (source && strcmp(source, "fashion_mnist") == 0))
        return false;
    json_object_foreach(spec, key, value)
    {
        const char *text = json_string_value(value);
        if (text && (text[0] == '/' || strstr(text, "..")))
            return false;
    }
    return true;
}

static void write_file(const char *name, const struct fuzz_input *bytes)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    PROVE(fd >= 0);
    PROVE(bytes->left == 0 || write(fd, bytes->at, bytes->left) == (ssize_t)bytes->left);
    (void)close(fd);
}

static void write_files(struct fuzz_input *in)
{
    while (in->left) {
        struct fuzz_input line = fuzz_until(in, "\n"), bytes = fuzz_until(in, "\n--- ");
        char *name = fuzz_text(&line);
        for (size_t i = 0; i < NUM_NAMES; i++)
            if (strcmp(name, names[i]) == 0)
                write_file(name, &bytes);
        free(name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_input text = fuzz_until(&in, "\n--- ");
    struct fault fault = FAULT_NONE;
    json_t *spec = NULL;
    enum err e = json_text_parse((const char *)text.at, text.left, &spec, &fault);
    fuzz_prove_told(e, &fault);
    if (e)
        return 0;
    if (is_suitable(spec)) {
        enter_folder();
        write_files(&in);
        (void)fuzz_dataset(spec);
        for (size_t i = 0; i < NUM_NAMES; i++)
            (void)unlink(names[i]);
    }
    json_decref(spec);
    return 0;
}
