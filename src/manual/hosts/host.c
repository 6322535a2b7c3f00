/* ./host QUESTION: a turn of gosling with a tool of this program.
   Linux; cc -std=gnu11 -Wall -o host host.c */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

static char key[33], *line;
static size_t line_size;
static int port;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1); /* stdin of gosling is closed, and so it ends */
}

/* What follows the first "name": in JSON. It cannot be inside of a string,
   where a backslash stands before each quote. */
static const char *find(const char *json, const char *name)
{
    char quoted[64];
    int length = snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = strstr(json, quoted);
    return at ? at + length : NULL;
}

/* The string there, still escaped, without its quotes; freed by the caller. */
static char *string(const char *at)
{
    size_t n = 0;
    if (!at || *at++ != '"')
        return strdup("");
    while (at[n] && at[n] != '"')
        n += at[n] == '\\' && at[n + 1] ? 2 : 1;
    return strndup(at, n);
}

static char *escape(const char *text)
{
    char *out = malloc(6 * strlen(text) + 1), *at = out;
    if (!out)
        fail("escape", "no memory");
    for (*at = 0; *text; text++)
        at += sprintf(at, (unsigned char)*text < ' ' ? "\\u%04x"
                          : strchr("\"\\", *text) ? "\\%c" : "%c", *text);
    return out;
}

static void print_text(const char *escaped)
{
    unsigned code;
    for (; *escaped; escaped++) {
        if (*escaped != '\\')
            putchar(*escaped);
        else if (*++escaped == 'u' && sscanf(escaped + 1, "%4x", &code) == 1) {
            putchar(code < 128 ? (int)code : '?'); /* others stand as UTF-8 */
            escaped += 4;
        } else
            putchar(*escaped == 'n' ? '\n' : *escaped == 't' ? '\t' : *escaped);
    }
    fflush(stdout);
}

static int mcp(void) /* gosling has started this: an MCP server */
{
    while (getline(&line, &line_size, stdin) > 0) {
        const char *id = find(line, "id"), *arguments = find(line, "arguments");
        char *method = string(find(line, "method"));
        char *version = string(find(line, "protocolVersion"));
        char *city = string(arguments ? find(arguments, "city") : NULL);
        if (id && *method) {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{",
                   (int)strcspn(id, ",}"), id);
            if (!strcmp(method, "initialize"))
                printf("\"protocolVersion\":\"%s\",\"serverInfo\":{\"name\":"
                       "\"host\",\"version\":\"1\"},"
                       "\"capabilities\":{\"tools\":{}}", version);
            else if (!strcmp(method, "tools/list"))
                printf("\"tools\":[{\"name\":\"weather\",\"inputSchema\":"
                       "{\"type\":\"object\",\"properties\":"
                       "{\"city\":{\"type\":\"string\"}}}}]");
            else if (!strcmp(method, "tools/call"))
                printf("\"content\":[{\"type\":\"text\","
                       "\"text\":\"%s: sunny\"}]", city);
            puts("}}");
            fflush(stdout);
        }
        free(method), free(version), free(city);
    }
    return 0;
}

/* Sends a request and reads the head of the answer. With HTTP/1.0 there are
   no chunks: the answer ends with the connection. */
static FILE *post(const char *path, char *body)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;
    FILE *in = fdopen(socket_fd, "r");
    if (!body || !in || connect(socket_fd, (struct sockaddr *)&to, sizeof to))
        fail(path, "no connection");
    dprintf(socket_fd, "POST %s HTTP/1.0\r\nHost: localhost\r\n"
            "X-Secret-Key: %s\r\nContent-Type: application/json\r\n"
            "Content-Length: %zu\r\n\r\n%s", path, key, strlen(body), body);
    free(body);
    if (getline(&line, &line_size, in) > 0)
        sscanf(line, "HTTP/%*s %d", &status);
    while (getline(&line, &line_size, in) > 0 && strcmp(line, "\r\n"))
        ;
    if (status != 200)
        fail(path, getline(&line, &line_size, in) > 0 ? line : "no answer");
    return in;
}

/* The same, and reads the answer, which is one line, into `line`. */
static void ask(const char *path, char *body)
{
    FILE *in = post(path, body);
    if (getline(&line, &line_size, in) <= 0)
        fail(path, "no answer");
    fclose(in);
}

static char *format(const char *pattern, const char *a, const char *b)
{
    char *text;
    return asprintf(&text, pattern, a, b) < 0 ? NULL : text;
}

static pid_t start(int *its_stdin)
{
    unsigned char random[16];
    int in[2], out[2];
    if (getrandom(random, sizeof random, 0) != sizeof random
        || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        fail("start", "no key or pipe");
    for (int i = 0; i < 16; i++)
        sprintf(key + 2 * i, "%02x", random[i]);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], 0), dup2(out[1], 1);
        setenv("GOOSE_SERVER__SECRET_KEY", key, 1);
        setenv("GOOSE_MODE", "approve", 1);
        execlp("gosling", "gosling", "agent", "--port", "0", "--ready", "json",
               "--end-with-stdin", NULL);
        perror("gosling");
        _exit(127);
    }
    close(in[0]), close(out[1]);
    FILE *ready = fdopen(out[0], "r");
    if (pid < 0 || !ready || getline(&line, &line_size, ready) <= 0
        || !find(line, "port"))
        fail("gosling", "it did not start");
    port = atoi(find(line, "port"));
    *its_stdin = in[1];
    return pid;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        fail(argv[0], "QUESTION is missing");
    if (!strcmp(argv[1], "mcp"))
        return mcp();
    int its_stdin, status;
    pid_t gosling = start(&its_stdin);
    char *self = realpath("/proc/self/exe", NULL), *folder = getcwd(NULL, 0);
    if (!self || !folder)
        fail(argv[0], "it does not know where it is");
    ask("/agent/start", format("{\"working_dir\":\"%s\","
        "\"extension_overrides\":[{\"type\":\"stdio\",\"name\":\"host\","
        "\"description\":\"\","
        "\"cmd\":\"%s\",\"args\":[\"mcp\"]}]}",
        escape(folder), escape(self)));
    char *session = string(find(line, "id"));
    ask("/agent/resume", format("{\"session_id\":\"%s\","
        "\"load_model_and_extensions\":true}", session, NULL));
    if (!strstr(line, "\"success\":true"))
        fail("the tool", line);
    FILE *turn = post("/reply", format("{\"session_id\":\"%s\","
        "\"user_message\":{\"role\":\"user\",\"created\":0,\"content\":"
        "[{\"type\":\"text\",\"text\":\"%s\"}],\"metadata\":"
        "{\"userVisible\":true,\"agentVisible\":true}}}",
        session, escape(argv[1])));
    while (getline(&line, &line_size, turn) > 0) {
        const char *content = find(line, "content");
        const char *data = strstr(line, "\"toolConfirmation\"");
        char *text = string(find(line, "text"));
        char *error = string(find(line, "error"));
        if (*error)
            fail("the turn", error);
        if (data) {
            char *id = string(find(data, "id"));
            printf("allowed: %s\n", string(find(data, "toolName")));
            ask("/action-required/tool-confirmation", format("{\"sessionId\":"
                "\"%s\",\"id\":\"%s\",\"action\":\"allow_once\"}",
                session, id));
            free(id);
        } else if (content && !strncmp(content, "[{\"type\":\"text\"", 15))
            print_text(text);
        free(text), free(error);
    }
    fclose(turn);
    close(its_stdin); /* gosling ends, and its children with it */
    waitpid(gosling, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
