/* gosling in a program of your own. Link with -lgosling_c; `gosling help hosts` has an example.
 *
 * Texts are UTF-8 and end with a zero byte. What a function returns as `char *` belongs to the caller, who frees it with
 * gosling_free. Where there is an `error`, it may be NULL; if not, it is set to NULL, or to a text that says what went
 * wrong, which the caller frees.
 *
 * All functions may be called from any thread, and by several at once, but for gosling_close and gosling_turn_end: after
 * them the handle is gone. None of them throws or exits. A JSON text has the form that it has in gosling's HTTP API
 * (`gosling help api`).
 */
#ifndef GOSLING_H
#define GOSLING_H

#ifdef __cplusplus
extern "C" {
#endif

/* Sessions, and the agents that run. */
typedef struct gosling gosling;
/* A turn of a session that runs, or has ended. */
typedef struct gosling_turn gosling_turn;

/* Opens the folders of gosling. `options` is a JSON object, or NULL: "root" is the folder to use instead of the user's,
 * "offline" forbids extensions and models on other machines. NULL if that fails, or the options are something else.
 *
 * Where SIGPIPE would end the program, it is ignored from then on: an MCP server that ends would cause it. */
gosling *gosling_open(const char *options, char **error);

/* Ends all agents and their extensions, waits for that, and frees the handle. Turns that run end, also if no one takes
 * their events; their handles stay until gosling_turn_end. NULL is allowed. */
void gosling_close(gosling *handle);

/* Calls a route of the HTTP API, without a network and a key: `method` in capitals, `path` with its query, `body` in JSON
 * or NULL. Returns the body of the answer, and its status in `status` unless that is NULL. Of streams only what comes
 * before the first event is returned. NULL and status 0 if an argument is not valid. */
char *gosling_request(gosling *handle, const char *method, const char *path, const char *body, int *status);

/* Calls the tool `extension__tool` with arguments in JSON; returns the result of tools/call (content, isError) in JSON.
 * NULL if that fails. */
char *gosling_call_tool(gosling *handle, const char *session, const char *tool, const char *arguments, char **error);

/* Starts a turn with a message of the user. Its events wait to be taken; the turn pauses while many do. NULL if it
 * cannot be started, for example as there is no such session. */
gosling_turn *gosling_turn_start(gosling *handle, const char *session, const char *message, char **error);

/* What gosling_turn_next found. */
enum gosling_state {
    GOSLING_EVENT = 0,   /* An event. */
    GOSLING_WAITING = 1, /* None within the time. */
    GOSLING_ENDED = 2,   /* The turn has ended; all events were taken. */
    GOSLING_INVALID = 3  /* The turn is NULL. */
};

/* Takes the next event in JSON, as POST /reply sends it: Message, Finish, Error and so on. Waits for it up to `ms`
 * milliseconds, forever if that is negative. NULL if there is none; `state`, unless it is NULL, says why. */
char *gosling_turn_next(gosling_turn *turn, int ms, int *state);

/* Lets the turn end as soon as it can; the events that are left tell, but for those that find a thousand waiting. It may
 * be called while another thread waits for an event. NULL is allowed. */
void gosling_turn_cancel(gosling_turn *turn);

/* Cancels the turn if it runs, waits for its end, and frees the handle. NULL is allowed. */
void gosling_turn_end(gosling_turn *turn);

/* Answers the question whether a tool may be called: `request` is the id of the content `actionRequired`, and `action`
 * always_allow, allow_once, cancel, deny_once or always_deny. 1 if the turn has waited for it, 0 if not, -1 if an
 * argument is not valid. */
int gosling_approve(gosling *handle, const char *session, const char *request, const char *action);

/* Answers an elicitation with `data`, a JSON object, or declines it with NULL. Returns what gosling_approve does. */
int gosling_answer(gosling *handle, const char *session, const char *request, const char *data);

/* Frees a text. NULL is allowed. */
void gosling_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
