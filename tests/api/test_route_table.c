/* The route table and the OpenAPI file say the same, and no row is open by mistake. */
#include <string.h>
#include "server/api/routes.h"
#include "tests/support/unit.h"

static json_t *openapi; /* "paths" */

static bool load(void)
{
    const char *srcdir = getenv("srcdir");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/docs/openapi.json", srcdir ? srcdir : ".");
    json_error_t error;
    json_t *document = json_load_file(path, 0, &error);
    openapi = json_incref(json_object_get(document, "paths"));
    json_decref(document);
    if (!openapi)
        (void)fprintf(stderr, "%s: %s\n", path, error.text);
    return openapi != NULL;
}

static const char *lower_method(enum http_method m)
{
    static const char *const names[] = {"get", "post", "put", "patch", "delete"};
    return names[m];
}

static json_t *operation_of(const struct route *route)
{
    return json_object_get(json_object_get(openapi, route->path), lower_method(route->method));
}

START_TEST(test_every_row_is_in_the_file)
{
    for (size_t i = 0; i < api_num_routes; i++) {
        const struct route *r = &api_routes[i];
        json_t *operation = operation_of(r);
        ck_assert_msg(operation != NULL, "%s %s is not in docs/openapi.json", http_method_name(r->method),
                      r->path);
        ck_assert_str_eq(json_string_value(json_object_get(operation, "operationId")), r->operation_id);
        ck_assert_msg((json_object_get(operation, "requestBody") != NULL) == (r->body != BODY_NONE),
                      "%s: its body", r->operation_id);
        ck_assert_msg(r->handler != NULL, "%s has no handler", r->operation_id);
    }
}
END_TEST

START_TEST(test_every_entry_of_the_file_is_a_row)
{
    size_t entries = 0;
    const char *path, *method;
    json_t *item, *operation;
    json_object_foreach(openapi, path, item)
        json_object_foreach(item, method, operation) if (json_object_get(operation, "operationId")) entries++;
    ck_assert_uint_eq(entries, api_num_routes);
}
END_TEST

START_TEST(test_operation_ids_are_unique)
{
    for (size_t i = 0; i < api_num_routes; i++)
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(api_routes[i].operation_id, api_routes[k].operation_id);
}
END_TEST

START_TEST(test_only_these_need_no_token)
{
    static const char *const open[] = {"page", "asset", "healthz", "readyz", "version", "openapi", "login"};
    for (size_t i = 0; i < api_num_routes; i++) {
        const struct route *r = &api_routes[i];
        bool is_open = false;
        for (size_t k = 0; k < sizeof open / sizeof open[0]; k++)
            is_open = is_open || strcmp(open[k], r->operation_id) == 0;
        ck_assert_msg((r->roles == 0) == is_open, "%s", r->operation_id);
        json_t *security = json_object_get(operation_of(r), "security");
        ck_assert_msg((security && json_array_size(security) == 0) == is_open, "%s: security",
                      r->operation_id);
    }
}
END_TEST

START_TEST(test_query_parameters_are_documented)
{
    for (size_t i = 0; i < api_num_routes; i++) {
        const struct route *r = &api_routes[i];
        for (const char *const *name = r->query; name && *name; name++) {
            bool found = false;
            size_t k;
            json_t *parameter;
            json_array_foreach(json_object_get(operation_of(r), "parameters"), k, parameter)
            {
                const char *its_name = json_string_value(json_object_get(parameter, "name"));
                found = found || (its_name && strcmp(its_name, *name) == 0);
            }
            ck_assert_msg(found, "%s: ?%s= is not in docs/openapi.json", r->operation_id, *name);
        }
    }
}
END_TEST

int main(void)
{
    if (!load())
        return 1;
    const TTest *const tests[] = {test_every_row_is_in_the_file, test_every_entry_of_the_file_is_a_row,
                                  test_operation_ids_are_unique, test_only_these_need_no_token,
                                  test_query_parameters_are_documented};
    int failed = unit_run("route_table", tests, sizeof tests / sizeof tests[0]);
    json_decref(openapi);
    return failed;
}
