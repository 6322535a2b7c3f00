"""Clients of the servers behind the proxy: requests, turns, and workers that have one turn after the other."""

import http.client
import json
import threading
import time
from cluster import HOST, KEY, SHARDS


class Failed(Exception):
    """A request or a turn that did not end as it has to."""


class Client:
    """One connection to the proxy, with a key. Repeats nothing."""

    def __init__(self, port, key=KEY):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=150)
        self.key = key

    def send(self, method, path, body=None):
        fields = {"Host": HOST}
        if self.key is not None:
            fields["X-Secret-Key"] = self.key
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            fields["Content-Type"] = "application/json"
        try:
            self.connection.request(method, path, body, fields)
            answer = self.connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            raise Failed(f"{method} {path}: {error!r}") from error

    def ask(self, method, path, body=None):
        status, text = self.send(method, path, body)
        if status != 200:
            raise Failed(f"{method} {path}: {status} {text[:300]!r}")
        return json.loads(text) if text.startswith((b"{", b"[")) else text

    def start(self, folder, extensions=()):
        return self.ask("POST", "/agent/start", {"working_dir": folder, "extension_overrides": list(extensions)})["id"]

    def turn(self, id, text, expected=None):
        """A turn, whose stream must be whole."""
        status, body = self.send("POST", "/reply", {"session_id": id, "user_message": message(text)})
        if status != 200 or b'"Finish"' not in body or b'"Error"' in body:
            raise Failed(f"turn of {id}: {status} {body[-300:]!r}")
        said = "".join(said_in(body))
        if (expected or text) not in said:
            raise Failed(f"turn of {id}: {said!r} lacks {expected or text!r}")

    def messages(self, id):
        """The texts of a session, in order."""
        conversation = self.ask("GET", f"/sessions/{id}")["conversation"]
        contents = [part for it in conversation for part in it["content"]]
        return [part["text"] for part in contents if part["type"] == "text"]


def said_in(stream):
    for line in stream.splitlines():
        if line.startswith(b"data:"):
            event = json.loads(line[5:])
            if event.get("type") == "Message":
                for part in event["message"]["content"]:
                    if part["type"] == "text":
                        yield part["text"]


def message(text):
    return {
        "role": "user", "created": 0, "content": [{"type": "text", "text": text}],
        "metadata": {"userVisible": True, "agentVisible": True},
    }


def shard_of(id):
    return int(id.split("_")[1]) % SHARDS


class Workers:
    """Threads that have turns in sessions of their own until they are told to stop."""

    def __init__(self, port, sessions, say):
        self.ends, self.times, self.failures, self.done = threading.Event(), [], [], {}
        self.threads = [threading.Thread(target=self.work, args=(port, id, say)) for id in sessions]
        for thread in self.threads:
            thread.start()

    def work(self, port, id, say):
        client, number = Client(port), 0
        while not self.ends.is_set():
            text, expected = say(number)
            begin = time.monotonic()
            try:
                client.turn(id, text, expected)
                self.done.setdefault(id, []).append(text)
                self.times.append((shard_of(id), begin, time.monotonic() - begin))
            except Failed as error:
                self.failures.append((shard_of(id), str(error)))
                time.sleep(0.05)
            number += 1

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join(timeout=200)
            assert not thread.is_alive(), "a turn does not end"


def percentile(times, part):
    times = sorted(times)
    return times[min(len(times) - 1, int(len(times) * part))]
