/* A program in C with gosling in it: ./program FOLDER. It is an MCP server, too: ./program mcp. */
#include "gosling.h"
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static gosling *handle;
static char session[64];

#define check(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* The string that follows "name":" in a JSON text, if it has no escapes. */
static void string(const char *json, const char *name, char *to, size_t size)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", name);
    const char *at = strstr(json, quoted);
    check(at);
    at += strlen(quoted);
    size_t length = strcspn(at, "\"");
    check(length < size);
    memcpy(to, at, length);
    to[length] = 0;
}

static void ask(const char *method, const char *path, const char *body, int expected)
{
    int status;
    char *answer = gosling_request(handle, method, path, body, &status);
    if (status != expected)
        fprintf(stderr, "%s %s: %d %s\n", method, path, status, answer ? answer : "");
    check(status == expected);
    if (!strcmp(path, "/agent/start"))
        string(answer, "id", session, sizeof session);
    gosling_free(answer);
}

/* A session with these extensions and the scripted model. */
static void start(const char *folder, const char *extensions)
{
    char body[4096];
    snprintf(body, sizeof body, "{\"working_dir\":\"%s\",\"extension_overrides\":[%s]}", folder, extensions);
    ask("POST", "/agent/start", body, 200);
    snprintf(body, sizeof body, "{\"session_id\":\"%s\",\"provider\":\"scripted\",\"model\":\"scripted\"}", session);
    ask("POST", "/agent/update_provider", body, 200);
}

static void call_a_tool(void)
{
    char *error = NULL;
    char *result = gosling_call_tool(handle, session, "demo__add", "{\"a\": 20, \"b\": 22}", &error);
    check(result && !error && strstr(result, "42") && !strstr(result, "\"isError\":true"));
    gosling_free(result);
    result = gosling_call_tool(handle, session, "demo__nothing", "{}", &error);
    check(!result && error);
    gosling_free(error);
    check(!gosling_call_tool(handle, session, "demo__add", "{", NULL));
    check(!gosling_call_tool(handle, session, "demo__add", "[20, 22]", &error) && strstr(error, "object"));
    gosling_free(error);
    check(!gosling_call_tool(handle, "no session", "demo__add", "{}", &error) && error);
    gosling_free(error);
}

/* Runs a turn to its end, and answers the question whether a tool may be called. */
static void run_a_turn(const char *action, const char *expected)
{
    char *error, text[256] = "", id[128];
    int state, questions = 0, has_finished = 0;
    gosling_turn *turn = gosling_turn_start(handle, session, "What is 20 and 22?", &error);
    check(turn && !error);
    for (;;) {
        char *event = gosling_turn_next(turn, 30000, &state);
        if (!event)
            break;
        check(state == GOSLING_EVENT);
        if (strstr(event, "\"toolConfirmation\"")) {
            string(strstr(event, "\"toolConfirmation\""), "id", id, sizeof id);
            check(gosling_approve(handle, session, "another", action) == 0);
            check(gosling_approve(handle, session, id, "perhaps") == -1);
            check(gosling_approve(handle, session, id, action) == 1);
            questions++;
        } else if (strstr(event, "\"type\":\"Message\"") && strstr(event, "It is")) {
            strncat(text, event, sizeof text - 1);
            check(strstr(event, expected));
        }
        has_finished |= strstr(event, "\"type\":\"Finish\"") != NULL;
        gosling_free(event);
    }
    check(state == GOSLING_ENDED && questions == 1 && has_finished && *text);
    check(!gosling_turn_next(turn, 0, NULL));
    gosling_turn_end(turn);
}

static void *cancel_later(void *turn)
{
    usleep(200000);
    gosling_turn_cancel(turn);
    return NULL;
}

static void end_a_turn_that_waits(void)
{
    int state;
    char *event;
    pthread_t thread;
    gosling_turn *turn = gosling_turn_start(handle, session, "What is 20 and 22?", NULL);
    check(turn);
    /* Nobody answers its question; another thread ends it. */
    check(!pthread_create(&thread, NULL, cancel_later, turn));
    while ((event = gosling_turn_next(turn, -1, &state)))
        gosling_free(event);
    check(state == GOSLING_ENDED);
    pthread_join(thread, NULL);
    gosling_turn_end(turn);
    /* Nor does anybody take its events. */
    turn = gosling_turn_start(handle, session, "What is 20 and 22?", NULL);
    check(turn);
    event = gosling_turn_next(turn, 30000, &state);
    check(event && state == GOSLING_EVENT);
    gosling_free(event);
    gosling_turn_end(turn);
}

static void refuse_what_is_not_valid(void)
{
    char *error;
    int status;
    check(!gosling_open("{\"rot\": \"/\"}", &error) && strstr(error, "rot"));
    gosling_free(error);
    check(!gosling_open("\xff", &error) && strstr(error, "UTF-8"));
    gosling_free(error);
    check(!gosling_open("[]", &error) && strstr(error, "object"));
    gosling_free(error);
    check(!gosling_open("{\"root\": \"\"}", &error) && strstr(error, "root"));
    gosling_free(error);
    check(!gosling_request(NULL, "GET", "/status", NULL, &status) && status == 0);
    check(!gosling_request(handle, "GET", "status", NULL, &status) && status == 0);
    check(!gosling_request(handle, "", "/status", NULL, &status) && status == 0);
    check(!gosling_request(handle, "get", "/status", NULL, &status) && status == 0);
    check(!gosling_turn_start(handle, NULL, "text", &error) && strstr(error, "NULL"));
    gosling_free(error);
    check(!gosling_turn_next(NULL, 0, &status) && status == GOSLING_INVALID);
    check(gosling_approve(handle, session, NULL, "allow_once") == -1);
    check(gosling_answer(handle, session, "another", "{") == -1);
    check(gosling_answer(handle, session, "another", "[]") == -1);
    check(gosling_answer(handle, session, "another", NULL) == 0);
    gosling_turn_cancel(NULL);
    gosling_turn_end(NULL);
    gosling_close(NULL);
    gosling_free(NULL);
    ask("GET", "/no/such/route", NULL, 404);
    ask("PATCH", "/status", NULL, 405);
    ask("GET", "/status", NULL, 200);
}

/* A turn of a session that does not exist is not started. */
static void refuse_a_turn_without_a_session(void)
{
    char *error;
    check(!gosling_turn_start(handle, "20200101_1", "text", &error) && strstr(error, "not found"));
    gosling_free(error);
}

/* How many threads of this program have this name. */
static int threads(const char *name)
{
    char path[300], comm[32];
    int found = 0;
    struct dirent *task;
    DIR *tasks = opendir("/proc/self/task");
    check(tasks);
    while ((task = readdir(tasks))) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        if (fgets(comm, sizeof comm, file)) {
            comm[strcspn(comm, "\n")] = 0;
            found += !strcmp(comm, name);
        }
        fclose(file);
    }
    closedir(tasks);
    return found;
}

/* Closes gosling while a turn waits for an answer, and another one for somebody who takes its events. */
static void close_with_turns(const char *folder)
{
    gosling_turn *asking, *telling;
    asking = gosling_turn_start(handle, session, "What is 20 and 22?", NULL);
    start(folder, "{\"type\":\"builtin\",\"name\":\"demo\"}");
    telling = gosling_turn_start(handle, session, "A long story", NULL);
    check(asking && telling);
    usleep(1000000);
    check(threads("turn") == 2);
    gosling_close(handle);
    for (int waited = 0; threads("turn"); waited++) {
        check(waited < 100);
        usleep(100000);
    }
    gosling_turn_end(asking);
    gosling_turn_end(telling);
}

/* The server of this program closes its stdin, and so does not end this program when something is written to it. */
static void outlive_a_server(const char *program, const char *folder)
{
    char extension[1024], *error = NULL;
    snprintf(extension, sizeof extension,
             "{\"type\":\"stdio\",\"name\":\"own\",\"description\":\"\",\"cmd\":\"%s\",\"args\":[\"mcp\"],\"timeout\":20}",
             program);
    start(folder, extension);
    check(!gosling_call_tool(handle, session, "own__any", "{}", &error) && error);
    gosling_free(error);
}

static int serve(void)
{
    char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        char *id = strstr(line, "\"id\":");
        if (!id)
            continue;
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":", strtol(id + 5, NULL, 10));
        if (strstr(line, "\"initialize\"")) {
            printf("{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
                   "\"serverInfo\":{\"name\":\"own\",\"version\":\"1\"}}}\n");
        } else if (strstr(line, "\"tools/list\"")) {
            close(0);
            printf("{\"tools\":[{\"name\":\"any\",\"inputSchema\":{\"type\":\"object\"}}]}}\n");
            fflush(stdout);
            sleep(60);
            return 0;
        } else {
            printf("{}}\n");
        }
        fflush(stdout);
    }
    return 0;
}

int main(int count, char **arguments)
{
    char options[1024], script[1024], *error = NULL;
    check(count == 2);
    if (!strcmp(arguments[1], "mcp"))
        return serve();
    const char *folder = arguments[1];
    snprintf(script, sizeof script, "%s/script.json", folder);
    setenv("GOOSE_SCRIPT", script, 1);
    setenv("GOOSE_MODE", "approve", 1);
    snprintf(options, sizeof options, "{\"root\": \"%s\", \"offline\": true}", folder);
    handle = gosling_open(options, &error);
    check(handle && !error);
    refuse_what_is_not_valid();
    start(folder, "{\"type\":\"builtin\",\"name\":\"demo\"}");
    call_a_tool();
    run_a_turn("allow_once", ":42");
    run_a_turn("deny_once", "It is");
    end_a_turn_that_waits();
    refuse_a_turn_without_a_session();
    outlive_a_server(arguments[0], folder);
    start(folder, "{\"type\":\"builtin\",\"name\":\"demo\"}");
    close_with_turns(folder);
    puts("all of it works");
    return 0;
}
