"""python3 host.py QUESTION: a turn of gosling with a tool of this program."""
import http.client, json, os, secrets, subprocess, sys, time

if sys.argv[1:] == ["mcp"]:  # gosling has started this: an MCP server
    for line in sys.stdin:
        ask = json.loads(line)
        params, result = ask.get("params", {}), {}
        if ask.get("method") == "initialize":
            result = {"protocolVersion": params["protocolVersion"],
                      "serverInfo": {"name": "host", "version": "1"},
                      "capabilities": {"tools": {}}}
        elif ask.get("method") == "tools/list":
            schema = {"type": "object",
                      "properties": {"city": {"type": "string"}}}
            result = {"tools": [{"name": "weather", "inputSchema": schema}]}
        elif ask.get("method") == "tools/call":
            text = params["arguments"].get("city", "here") + ": sunny"
            result = {"content": [{"type": "text", "text": text}]}
        if "id" in ask and "method" in ask:
            answer = {"jsonrpc": "2.0", "id": ask["id"], "result": result}
            print(json.dumps(answer), flush=True)
    sys.exit()

key = secrets.token_hex(16)
gosling = subprocess.Popen(
    "gosling agent --port 0 --ready json --end-with-stdin".split(),
    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    env={**os.environ, "GOOSE_MODE": "approve",
         "GOOSE_SERVER__SECRET_KEY": key})
ready = gosling.stdout.readline() or sys.exit("gosling did not start")
port = json.loads(ready)["port"]


def post(path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    head = {"X-Secret-Key": key, "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), head)
    answer = connection.getresponse()
    if answer.status != 200:
        sys.exit(f"{path}: {answer.read().decode()}")
    return answer


tool = {"type": "stdio", "name": "host", "description": "",
        "cmd": sys.executable, "args": [os.path.abspath(__file__), "mcp"]}
begin = {"working_dir": os.getcwd(), "extension_overrides": [tool]}
session = json.load(post("/agent/start", begin))["id"]
wait = {"session_id": session, "load_model_and_extensions": True}
for result in json.load(post("/agent/resume", wait))["extension_results"]:
    result["success"] or sys.exit(result["error"])
message = {"role": "user", "created": int(time.time()),
           "content": [{"type": "text", "text": " ".join(sys.argv[1:])}],
           "metadata": {"userVisible": True, "agentVisible": True}}
for line in post("/reply", {"session_id": session, "user_message": message}):
    event = json.loads(line[6:]) if line.startswith(b"data: ") else {}
    if "error" in event:
        sys.exit(event["error"])
    for part in event.get("message", {}).get("content", []):
        if part["type"] == "text":
            print(part["text"], end="", flush=True)
        elif part["type"] == "actionRequired":
            call = part["data"]
            print("allowed:", call["toolName"], json.dumps(call["arguments"]))
            post("/action-required/tool-confirmation", {
                "sessionId": session, "id": call["id"], "action": "allow_once"})
gosling.stdin.close()  # gosling ends, and its children with it
sys.exit(gosling.wait())
