#include "gosling.h"
#include <stdio.h>
#include <string.h>

int main(void)
{
    char *error, *event, id[64] = "", body[256];
    gosling *handle = gosling_open("{\"root\": \"/tmp/gosling-c\"}", &error);
    if (!handle)
        return fprintf(stderr, "%s\n", error), 1;
    char *session = gosling_request(handle, "POST", "/agent/start",
        "{\"working_dir\": \"/tmp\", \"extension_overrides\": []}", NULL);
    if (session)
        sscanf(session, "{\"id\":\"%63[^\"]", id);
    gosling_free(session);
    snprintf(body, sizeof body, "{\"session_id\": \"%s\", \"provider\": "
        "\"scripted\", \"model\": \"scripted\"}", id);
    gosling_free(gosling_request(handle, "POST", "/agent/update_provider",
        body, NULL));
    gosling_turn *turn = gosling_turn_start(handle, id, "Good morning", NULL);
    while ((event = gosling_turn_next(turn, -1, NULL))) {
        puts(event);
        gosling_free(event);
    }
    gosling_turn_end(turn);
    gosling_close(handle);
    return 0;
}
