// go run host.go QUESTION: a turn of gosling with a tool of this program.
package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

type object = map[string]any
type list = []any

const confirm = "/action-required/tool-confirmation"

var key, url string

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func words(text string) object {
	return object{"type": "text", "text": text}
}

func mcp() { // gosling has started this: an MCP server
	schema := object{"type": "object",
		"properties": object{"city": object{"type": "string"}}}
	for in := json.NewDecoder(os.Stdin); ; {
		var ask struct {
			Id     any
			Method string
			Params struct {
				ProtocolVersion string
				Arguments       struct{ City string }
			}
		}
		if err := in.Decode(&ask); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		result := object{}
		switch ask.Method {
		case "initialize":
			result["protocolVersion"] = ask.Params.ProtocolVersion
			result["capabilities"] = object{"tools": object{}}
			result["serverInfo"] = object{"name": "host",
				"version": "1"}
		case "tools/list":
			tool := object{"name": "weather", "inputSchema": schema}
			result["tools"] = list{tool}
		case "tools/call":
			text := ask.Params.Arguments.City + ": sunny"
			result["content"] = list{words(text)}
		}
		if ask.Id != nil && ask.Method != "" {
			answer := object{"jsonrpc": "2.0", "id": ask.Id}
			answer["result"] = result
			must(0, json.NewEncoder(os.Stdout).Encode(answer))
		}
	}
}

func post(path string, body object) io.Reader {
	content := bytes.NewReader(must(json.Marshal(body)))
	request := must(http.NewRequest("POST", url+path, content))
	request.Header.Set("X-Secret-Key", key)
	request.Header.Set("Content-Type", "application/json")
	answer := must(http.DefaultClient.Do(request))
	if answer.StatusCode != 200 {
		log.Fatalf("%s: %s", path, must(io.ReadAll(answer.Body)))
	}
	return answer.Body
}

type event struct {
	Error   string
	Message struct {
		Content []struct {
			Type, Text string
			Data       struct {
				Id, ToolName string
				Arguments    json.RawMessage
			}
		}
	}
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "mcp" {
		mcp()
		return
	}
	random := make([]byte, 16)
	must(rand.Read(random))
	key = hex.EncodeToString(random)
	gosling := exec.Command("gosling", "agent", "--port", "0",
		"--ready", "json", "--end-with-stdin")
	gosling.Env = append(os.Environ(), "GOOSE_MODE=approve",
		"GOOSE_SERVER__SECRET_KEY="+key)
	gosling.Stderr = os.Stderr
	stdin, stdout := must(gosling.StdinPipe()), must(gosling.StdoutPipe())
	must(0, gosling.Start())
	var ready struct{ Url string }
	must(0, json.NewDecoder(stdout).Decode(&ready))
	url = ready.Url

	cmd := must(os.Executable())
	tool := object{"type": "stdio", "name": "host", "description": "",
		"cmd": cmd, "args": list{"mcp"}}
	var session struct{ Id string }
	must(0, json.NewDecoder(post("/agent/start", object{
		"working_dir":         must(os.Getwd()),
		"extension_overrides": list{tool}})).Decode(&session))
	var resumed struct {
		Results []struct {
			Success bool
			Error   string
		} `json:"extension_results"`
	}
	must(0, json.NewDecoder(post("/agent/resume", object{
		"session_id":                session.Id,
		"load_model_and_extensions": true})).Decode(&resumed))
	for _, result := range resumed.Results {
		if !result.Success {
			log.Fatal(result.Error)
		}
	}
	message := object{"role": "user", "created": time.Now().Unix(),
		"content":  list{words(strings.Join(os.Args[1:], " "))},
		"metadata": object{"userVisible": true, "agentVisible": true}}
	turn := bufio.NewReader(post("/reply", object{
		"session_id": session.Id, "user_message": message}))
	for {
		line, err := turn.ReadString('\n')
		if err == io.EOF {
			break
		}
		if !strings.HasPrefix(must(line, err), "data: ") {
			continue
		}
		var event event
		must(0, json.Unmarshal([]byte(line[len("data: "):]), &event))
		if event.Error != "" {
			log.Fatal(event.Error)
		}
		for _, part := range event.Message.Content {
			switch call := part.Data; part.Type {
			case "text":
				fmt.Print(part.Text)
			case "actionRequired":
				fmt.Printf("allowed: %s %s\n",
					call.ToolName, call.Arguments)
				post(confirm, object{"sessionId": session.Id,
					"id": call.Id, "action": "allow_once"})
			}
		}
	}
	stdin.Close() // gosling ends, and its children with it
	must(0, gosling.Wait())
}
