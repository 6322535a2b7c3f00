"""Three servers behind HAProxy, one of which is killed, and all of which are replaced while turns run.

    python3 tests/interop/scale/main.py GOSLING

300 sessions of several clients, each with turns. Prints a row for each trial, and the figures of the page `scale`.
"""

import concurrent.futures
import os
import sys
import tempfile
import time
import types

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import proxies
from clients import Client, Failed, Workers, message, percentile, shard_of
from cluster import KEY, SHARDS, Cluster, wait

SESSIONS = 300
KEYS_PER_SHARD = 2
# What another shard's trouble may cost at most; a bound for loaded machines, not a figure.
SLOWEST = 5.0


class Scene:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.cluster = Cluster(program, folder)
        self.keys = {number: [] for number in range(SHARDS)}
        self.sessions = {}
        self.pool = concurrent.futures.ThreadPoolExecutor(8)

    def client(self, key=KEY):
        return Client(self.cluster.port, key)

    def of(self, shard, has_extension=None):
        return [id for id, has in self.sessions.items()
                if shard_of(id) == shard and has_extension in (None, has)]

    def memory(self):
        pairs = [shard.memory() for shard in self.cluster.shards]
        return sum(own for own, _ in pairs), sum(below for _, below in pairs)

    def cpu(self):
        return sum(shard.cpu() for shard in self.cluster.shards)

    def demo(self):
        return {"type": "stdio", "name": "demo", "description": "", "cmd": self.program, "args": ["mcp", "demo"],
                "envs": {}, "env_keys": []}


def keys_have_a_server(scene):
    """A key finds the same server each time; keys are made until each server has some."""
    count = 0
    while any(len(keys) < KEYS_PER_SHARD for keys in scene.keys.values()):
        count += 1
        assert count <= 60, scene.keys
        key = scene.cluster.add_key(f"client{count}")
        client = scene.client(key)
        status = wait(lambda: (client.send("GET", "/sessions")[0] != 401), "the key is not known")
        assert status
        ids = [client.start(scene.folder) for _ in range(3)]
        found = {shard_of(id) for id in ids}
        assert len(found) == 1, ids
        for id in ids:
            assert client.send("DELETE", f"/sessions/{id}")[0] == 200
        keys = scene.keys[found.pop()]
        if len(keys) < KEYS_PER_SHARD:
            keys.append(key)
    return f"{count} keys, {SHARDS} servers"


def begin_sessions(scene):
    """All sessions, half of them with an extension, each with a turn. Measures their memory."""
    figures, threads = [], []
    # What a server needs once is not counted for the sessions.
    for number, keys in scene.keys.items():
        id = scene.client(keys[0]).start(scene.folder, [scene.demo()])
        scene.client(keys[0]).turn(id, "add", '"sum":5')
        scene.client(keys[0]).ask("POST", "/agent/stop", {"session_id": id})
    for has_extension in (False, True):
        time.sleep(1)
        before = scene.memory()
        running = sum(shard.threads() for shard in scene.cluster.shards)

        def begin(index):
            shard = index % SHARDS
            key = scene.keys[shard][index // SHARDS % KEYS_PER_SHARD]
            client = scene.client(key)
            id = client.start(scene.folder, [scene.demo()] if has_extension else [])
            assert shard_of(id) == shard, (id, shard)
            client.turn(id, *(("add", '"sum":5') if has_extension else (f"first of {id}", None)))
            return id

        ids = list(scene.pool.map(begin, range(SESSIONS // 2)))
        assert len(set(ids)) == SESSIONS // 2, "a number was given twice"
        time.sleep(1)
        own, below = (after - earlier for after, earlier in zip(scene.memory(), before))
        threads.append((sum(shard.threads() for shard in scene.cluster.shards) - running) / len(ids))
        figures.append((own / len(ids), below / len(ids)))
        scene.sessions.update((id, has_extension) for id in ids)
    (plain, _), (own, below) = figures
    rss = [shard.memory()[0] // 1024 for shard in scene.cluster.shards]
    return (f"{plain:.0f} KiB a session; with an extension {own:.0f} KiB, and {below:.0f} KiB of its process; "
            f"servers {rss} MiB; threads a session: {threads[0]:.1f}, {threads[1]:.1f}")


def sessions_are_found(scene):
    """By path, query and body, with another key than the one that began them; nowhere else."""
    client = scene.client()
    for number in range(SHARDS):
        id = scene.of(number, False)[0]
        assert f"first of {id}" in client.messages(id)
        client.ask("GET", f"/agent/tools?session_id={id}")
        client.ask("POST", "/agent/resume", {"session_id": id, "load_model_and_extensions": True})
        body = {"sessionId": id, "id": "none", "action": "allow_once", "principalType": "Tool"}
        status, text = client.send("POST", "/action-required/tool-confirmation", body)
        assert status != 413 and b"ession" not in text.replace(b"sessionId", b""), (status, text)
        ticket = client.ask("POST", "/ticket", {"path": f"/sessions/{id}"})["ticket"]
        assert Client(scene.cluster.port, None).send("GET", f"/sessions/{id}?token={ticket}")[0] == 200
        status, _ = Client(scene.cluster.shards[(number + 1) % SHARDS].port).send("GET", f"/sessions/{id}")
        assert status == 404, status
        large = "x" * 300_000
        begin = {"session_id": id, "user_message": message(f"large {large}")}
        status, body = client.send("POST", "/reply", begin)
        assert status == 200 and b'"Finish"' in body, (status, body[-300:])
        end = {"user_message": message(f"large {large}"), "session_id": id}
        status, body = client.send("POST", "/reply", end)
        assert status == 413 and b"put session_id first" in body, (status, body[:300])
        status, body = client.send("POST", f"/reply?session_id={id}", end)
        assert status == 200 and b'"Finish"' in body, (status, body[-300:])
    for wrong in ("x", "20260101_", "20260101_-1", "20260101_" + "9" * 40, "20260101_5000001"):
        status, _ = client.send("GET", f"/sessions/{wrong}")
        assert status in (400, 404), (wrong, status)
    return "path, query, body, ticket"


def web_sockets(scene):
    gosling = types.SimpleNamespace(root=scene.folder)
    proxies.KEY = KEY
    return proxies.web_sockets(scene.cluster.port, gosling)


def turns_cost(scene):
    rows = []
    kinds = (("text", False, "hello", None, 900), ("a call of a tool", True, "add", '"sum":5', 600),
             ("5 calls and 400 pieces of text", True, "work", "word done", 120))
    for kind, has_extension, text, expected, count in kinds:
        ids = [id for number in range(SHARDS) for id in scene.of(number, has_extension)[:4]]
        before, begin = scene.cpu(), time.monotonic()

        def work(id):
            client = scene.client()
            for _ in range(count // len(ids)):
                client.turn(id, text, expected)

        list(scene.pool.map(work, ids))
        turns = count // len(ids) * len(ids)
        used, elapsed = scene.cpu() - before, time.monotonic() - begin
        rows.append(f"{kind}: {1000 * used / turns:.2f} ms of CPU, {turns / used:.0f}/s a core ({turns / elapsed:.0f}/s)")
    return "; ".join(rows)


def a_server_is_killed(scene):
    """Its sessions resume with their messages, and the others notice nothing."""
    victim = 1
    shard = scene.cluster.shards[victim]
    ids = [id for number in range(SHARDS) for id in scene.of(number, False)[:3]]
    before = {id: scene.client().messages(id) for id in scene.of(victim)}
    retries = scene.cluster.retries()
    workers = Workers(scene.cluster.port, ids, lambda number: (f"turn {number}, slowly", "begin and middle and end"))
    wait(lambda: {shard_of(id) for id in workers.done} == set(range(SHARDS)), "no turn runs")
    time.sleep(0.5)
    at = time.monotonic()
    shard.kill()
    time.sleep(1)
    took = shard.start()
    wait(lambda: any(number == victim and begin > at + 1 for number, begin, _ in workers.times), "no turn after it")
    time.sleep(1)
    workers.stop()
    others = [failure for failure in workers.failures if failure[0] != victim]
    assert not others, others[:3]
    assert len(workers.failures) <= 3, workers.failures
    times = [took for number, begin, took in workers.times if number != victim and begin + took > at]
    calm = [took for number, begin, took in workers.times if number != victim and begin + took <= at]
    assert max(times) < percentile(calm, 0.5) + SLOWEST, max(times)

    def resumes(id):
        client = scene.client()
        client.ask("POST", "/agent/resume", {"session_id": id, "load_model_and_extensions": True})
        found = client.messages(id)
        assert found[: len(before[id])] == before[id], (id, before[id], found)
        for text in workers.done.get(id, []):
            assert text in found, (id, text)
        client.turn(id, *(("add", '"sum":5') if scene.sessions[id] else ("again", None)))

    list(scene.pool.map(resumes, before))
    return (f"{len(workers.failures)} turns of it cut, 0 of the others; back after {1000 * took:.0f} ms; "
            f"{len(before)} sessions resumed; others' turns: median {percentile(times, 0.5):.2f} s, slowest "
            f"{max(times):.2f} s (before: {percentile(calm, 0.5):.2f}, {max(calm):.2f}); "
            f"{scene.cluster.retries() - retries} retries of HAProxy")


def a_server_is_away(scene):
    """Without a manager that keeps its socket, as in Kubernetes: HAProxy repeats connections until it is back."""
    shard = scene.cluster.shards[2]
    retries = scene.cluster.retries()
    id = scene.of(2, False)[0]
    shard.terminate()
    shard.socket.close()
    turn = scene.pool.submit(lambda: scene.client().turn(id, "while it is away"))
    wait(lambda: scene.cluster.retries() >= retries + 2, "HAProxy does not repeat the connection")
    # The others are there.
    scene.client().turn(scene.of(0, False)[0], "meanwhile")
    assert not turn.done()
    shard.listen()
    shard.start()
    turn.result(timeout=60)
    return f"a turn waited for it, {scene.cluster.retries() - retries} retries of HAProxy"


def all_are_replaced(scene):
    """Not one turn or other request is lost, cut or refused while each server makes room for its successor."""
    ids = [id for number in range(SHARDS) for id in scene.of(number, False)[:6]]
    said = lambda number: (f"{number} slowly", "begin and middle and end") if number % 3 == 0 else (f"quick {number}", None)
    processes = {shard.process.pid for shard in scene.cluster.shards}
    retries = scene.cluster.retries()
    workers = Workers(scene.cluster.port, ids, said)
    # Sessions go on beginning, too.
    begun, failures, ends = [], [], []

    def starts(key):
        client = scene.client(key)
        while not ends:
            try:
                id = client.start(scene.folder)
                begun.append(id)
                client.turn(id, f"first of {id}")
            except Failed as error:
                failures.append(str(error))
            time.sleep(0.1)

    starting = [scene.pool.submit(starts, keys[0]) for keys in scene.keys.values()]
    pauses = []
    for shard in scene.cluster.shards:
        wait(lambda: sum(number == shard.number for number, *_ in workers.times) > 2, "no turn runs")
        time.sleep(0.5)
        down, up = shard.terminate(), shard.start()
        pauses.append(f"{down:.1f}+{up:.2f}")
        at = time.monotonic()
        wait(lambda: any(number == shard.number and begin > at for number, begin, _ in workers.times), "no turn after it")
    ends.append(True)
    for it in starting:
        it.result(timeout=200)
    workers.stop()
    assert not workers.failures and not failures, (workers.failures + failures)[:3]
    assert processes.isdisjoint(shard.process.pid for shard in scene.cluster.shards)
    assert len(begun) == len(set(begun)), "a number was given twice"
    assert not set(begun) & set(scene.sessions), "a number was given again"
    client = scene.client()
    for id, texts in workers.done.items():
        found = [text for text in client.messages(id) if text in set(texts)]
        assert found == texts[:], (id, len(found), len(texts))
    turns, waited = len(workers.times), [took for *_, took in workers.times]
    return (f"{turns} turns and {len(begun)} new sessions, 0 failed; seconds to end and to start: {', '.join(pauses)}; "
            f"slowest turn {max(waited):.1f} s; {scene.cluster.retries() - retries} retries of HAProxy, 0 of clients")


TRIALS = [keys_have_a_server, begin_sessions, sessions_are_found, web_sockets, turns_cost, a_server_is_killed,
          a_server_is_away, all_are_replaced]


def main(program):
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(os.path.abspath(program), folder)
        try:
            scene.cluster.start()
            for trial in TRIALS:
                begin = time.monotonic()
                try:
                    result = "ok, " + trial(scene)
                except (AssertionError, Failed) as error:
                    result, failed = f"FAILED, {type(error).__name__}: {str(error)[:1500]}", True
                took = 1000 * (time.monotonic() - begin)
                print(f"{'scale ' + trial.__name__:36} {'':6} {took:6.0f} ms  {result}", flush=True)
                if failed:
                    for shard in scene.cluster.shards:
                        print(shard.text()[-1500:], file=sys.stderr)
                    break
        finally:
            scene.cluster.stop()
            scene.pool.shutdown(wait=False, cancel_futures=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
