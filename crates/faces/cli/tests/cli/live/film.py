"""Loads a page in Chromium, with a screenshot each 200 ms until its last picture is there.

film.py URL FILE PROXY writes FILE: when the last picture came, how many decoded, the screenshots,
and what the browser's network panel shows of damage.
"""
import atexit, base64, json, os, shutil, socket, struct, subprocess, sys, tempfile, time
import urllib.request
from pathlib import Path


class DevTools:
    """The connection to a page of Chromium: a WebSocket (RFC 6455) with texts of JSON."""

    def __init__(self, url):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=120)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        while self.stream.readline() not in (b"\r\n", b""):
            pass
        self.number, self.events = 0, []

    def send(self, method, **params):
        self.number += 1
        data = json.dumps({"id": self.number, "method": method, "params": params}).encode()
        size = bytes([254]) + struct.pack("!H", len(data))
        self.socket.sendall(b"\x81" + size + bytes(4) + data)
        return self.number

    def receive(self):
        text = b""
        while True:
            first, second = self.stream.read(2)
            size = second & 127
            if size > 125:
                size = int.from_bytes(self.stream.read(2 if size == 126 else 8), "big")
            data = self.stream.read(size)
            text += data
            if first & 128:
                return json.loads(text)

    def call(self, method, **params):
        number = self.send(method, **params)
        while True:
            message = self.receive()
            if message.get("id") == number:
                return message.get("result", {})
            self.events.append(message)


def start(proxy):
    profile = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, profile, ignore_errors=True)
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
               "--disable-dev-shm-usage", "--disable-background-networking",
               "--disable-component-update", "--remote-debugging-port=0",
               f"--user-data-dir={profile}", "about:blank"]
    if proxy:
        command.insert(1, f"--proxy-server={proxy}")
    browser = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for _ in range(600):
        try:
            port = (Path(profile) / "DevToolsActivePort").read_text().split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as pages:
                page = next(it for it in json.load(pages) if it["type"] == "page")
                return browser, DevTools(page["webSocketDebuggerUrl"])
        except (OSError, StopIteration, IndexError):
            time.sleep(0.1)
    browser.kill()
    sys.exit("Chromium does not start")


LAST = """JSON.stringify({
    n: [...document.images].filter(it => it.complete && it.naturalWidth).length,
    done: [...document.images].filter(it => it.complete).length,
    all: document.images.length,
    ms: Math.max(0, ...performance.getEntriesByType('resource').map(it => it.responseEnd)),
})"""


SIZE = {"width": 1300, "height": 1010}


def shot(page, scale, quality):
    clip = {"x": 0, "y": 0, **SIZE, "scale": scale}
    told = page.call("Page.captureScreenshot", format="jpeg", quality=quality, clip=clip)
    return told.get("data")


def replies(events):
    """The path and the mark of each reply, None where it has none."""
    for event in events:
        if event.get("method") == "Network.responseReceived":
            reply = event["params"]["response"]
            headers = {name.lower(): value for name, value in reply["headers"].items()}
            path = "/" + reply["url"].split("/", 3)[3]
            yield {"path": path, "status": reply["status"], "mark": headers.get("x-sap-damage")}


def main(url, name, proxy):
    browser, page = start(proxy)
    try:
        page.call("Emulation.setDeviceMetricsOverride", deviceScaleFactor=1, mobile=False, **SIZE)
        page.call("Page.enable")
        page.call("Network.enable")
        began, told, shots = time.monotonic(), {}, []
        # Before the page is there it has nothing to show, and Chromium may never answer.
        page.call("Page.navigate", url=url)
        for tick in range(1, 300):
            time.sleep(max(0, began + tick * 0.2 - time.monotonic()))
            at = int(1000 * (time.monotonic() - began))
            picture = shot(page, 0.15, 60)
            if picture:
                shots.append({"at": at, "jpeg": picture})
            told = page.call("Runtime.evaluate", expression=LAST)["result"].get("value", "{}")
            told = json.loads(told)
            if told.get("all") and told["done"] == told["all"]:
                break
        ended = max([round(told.get("ms", 0)), *(it["at"] for it in shots[-1:])])
        shots.append({"at": ended, "jpeg": shot(page, 0.15, 60)})
        load = {"ms": told.get("ms", 0), "decoded": told.get("n", 0), "shots": shots,
                "last": shot(page, 0.5, 70), "replies": list(replies(page.events))}
        Path(name).write_text(json.dumps(load))
    finally:
        browser.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
