"""A minimal WebDriver client on the standard library."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request

KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "ArrowUp": "\ue013", "ArrowDown": "\ue015", "Alt": "\ue00a", "Shift": "\ue008"}


class Browser:
    """Chromium, driven by chromedriver."""

    def __init__(self, port=0):
        driver = shutil.which("chromedriver")
        self.driver = subprocess.Popen([driver, f"--port={port or 9517}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port or 9517}"
        self.wait_for_driver()
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio", "--autoplay-policy=no-user-gesture-required",
                     "--hide-scrollbars", "--disable-dev-shm-usage"],
            "binary": shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome"),
        }
        always = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": always}})
        self.session = f"/session/{answer['sessionId']}"

    def wait_for_driver(self):
        for _ in range(100):
            try:
                if self.call("GET", "/status")["ready"]:
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("chromedriver does not start")

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"].split("\n")[0]) from None

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()

    def cdp(self, command, **parameters):
        return self.call("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def look(self, width, height=900, scheme="light"):
        """Sets the size of the window and the colour scheme."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        self.call("POST", f"{self.session}/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def run_later(self, script, *arguments):
        """Runs a script that calls its last argument when it is done."""
        return self.call("POST", f"{self.session}/execute/async", {"script": script, "args": list(arguments)})

    def wait(self, script, seconds=20, what=None):
        """Waits until a script returns a true value, and returns it."""
        end = time.time() + seconds
        while time.time() < end:
            found = self.run(script)
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s for: {what or script}")

    def element(self, selector):
        found = self.call("POST", f"{self.session}/element", {"using": "css selector", "value": selector})
        return next(iter(found.values()))

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", selector)
        self.call("POST", f"{self.session}/element/{self.element(selector)}/click", {})

    def type(self, selector, text):
        self.call("POST", f"{self.session}/element/{self.element(selector)}/value", {"text": text})

    def keys(self, *names):
        """Presses keys; `Alt+ArrowUp` holds the first."""
        actions = []
        for name in names:
            parts = [KEYS.get(part, part) for part in (name.split("+") if len(name) > 1 else [name])]
            actions += [{"type": "keyDown", "value": part} for part in parts]
            actions += [{"type": "keyUp", "value": part} for part in reversed(parts)]
        self.call("POST", f"{self.session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def shot(self, path, whole=True):
        parameters = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
            parameters["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        path.write_bytes(base64.b64decode(self.cdp("Page.captureScreenshot", **parameters)["data"]))

    def complaints(self):
        """The severe messages of the console."""
        entries = self.call("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]
