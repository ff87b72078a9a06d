"""A headless Chromium, driven through chromedriver by the WebDriver protocol."""
import base64
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request

from waiting import wait_until

TIMEOUT_S = 60
# The name under which the protocol gives an element.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """The programs that are not there."""
    return [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


class Browser:
    """One window.  Ends with its driver by close()."""

    def __init__(self, folder):
        """The folder is for its profile and its log."""
        self.log = open(f"{folder}/chromedriver.log", "w+", encoding="utf-8")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=self.log, stderr=subprocess.STDOUT,
                                       env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)})
        self.session = ""
        try:
            port = wait_until(self.port, TIMEOUT_S, "chromedriver listens")
            self.base = f"http://127.0.0.1:{port}"
            options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                "--hide-scrollbars", f"--user-data-dir={folder}/profile"]}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = f"/session/{answer['sessionId']}"
        except BaseException:
            self.close()
            raise

    def port(self):
        assert self.driver.poll() is None, self.said()
        found = re.search(r"started successfully on port (\d+)", self.said())
        return found and int(found[1])

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def close(self):
        try:
            if self.session:
                self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(TIMEOUT_S)
            self.log.close()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + self.session + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise LookupError(f"{value['error']}: {value['message']}") from None

    def open(self, address):
        self.call("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        """What a function body in the page returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, path):
        """The element of an XPath, when it is there."""
        def look():
            found = self.call("POST", "/elements", {"using": "xpath", "value": path})
            return found and found[0][ELEMENT]
        try:
            return wait_until(look, TIMEOUT_S, path)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; there is:\n{self.text()}") from None

    def click(self, path):
        """The page may put a new element in its place meanwhile; then that one is meant."""
        def press():
            try:
                self.call("POST", f"/element/{self.find(path)}/click", {})
                return True
            except LookupError as error:
                if "stale element" in str(error) or "intercepted" in str(error):
                    return False
                raise
        wait_until(press, TIMEOUT_S, f"it can be clicked: {path}")

    def type(self, path, text):
        element = self.find(path)
        self.call("POST", f"/element/{element}/clear", {})
        self.call("POST", f"/element/{element}/value", {"text": text})

    def press(self, keys):
        """On the keyboard, wherever the focus is."""
        focused = self.call("GET", "/element/active")[ELEMENT]
        self.call("POST", f"/element/{focused}/value", {"text": keys})

    def text(self):
        return self.run("return document.body.innerText")

    def console(self):
        """The errors that the page has caused since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})
                if entry["level"] == "SEVERE"]

    def show(self, width, height, scheme):
        """As a window of this size would, of somebody who likes it light or dark."""
        self.command("Emulation.setDeviceMetricsOverride",
                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def command(self, name, parameters):
        self.call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))
