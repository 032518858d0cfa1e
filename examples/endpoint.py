#!/usr/bin/env python3
"""A stand-in for an HTTP endpoint: answers {"prompt": TEXT} with {"answer": TEXT in upper case}.

    examples/endpoint.py FOLDER [SECONDS [PER_SECOND]]

It listens on a free port and writes the address to FOLDER/url. Each answer takes SECONDS. With
PER_SECOND it takes that many requests a second, and answers others with status 429. It ends when
FOLDER/stop exists. SPDX-License-Identifier: MIT
"""
import http.server, json, os, sys, threading, time

folder = sys.argv[1]
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
rate = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
lock, next_s = threading.Lock(), [0.0]


def wait_s():
    """How long until a request may come; 0: this one may."""
    with lock:
        now_s = time.monotonic()
        if rate and next_s[0] > now_s:
            return next_s[0] - now_s
        next_s[0] = now_s + (1 / rate if rate else 0)
        return 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        later_s = wait_s()
        if later_s > 0:
            self.reply(429, b"too many requests\n", f"{later_s:.3f}")
            return
        time.sleep(seconds)
        self.reply(200, json.dumps({"answer": json.loads(body)["prompt"].upper()}).encode())

    def reply(self, status, body, later=None):
        self.send_response(status)
        if later:
            self.send_header("Retry-After", later)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(os.path.join(folder, "url.new"), "w") as file:
    file.write(f"http://127.0.0.1:{server.server_port}/\n")
os.rename(os.path.join(folder, "url.new"), os.path.join(folder, "url"))
while not os.path.exists(os.path.join(folder, "stop")):
    time.sleep(0.05)
