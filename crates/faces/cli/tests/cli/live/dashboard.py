"""Uses the page of `windfall top --web` as a person does, and keeps pictures of it.

dashboard.py URL FOLDER SECONDS: watches for so long before the pictures; ends with an error where
something of the page is missing.
"""
import base64, json, sys, time
from pathlib import Path

from film import start


class Page:
    def __init__(self, tools):
        self.tools = tools
        for domain in ("Page", "Runtime", "Log"):
            tools.call(f"{domain}.enable")

    def visit(self, url):
        self.tools.call("Page.navigate", url=url)

    def be(self, width, height, scale, scheme):
        mobile = width < 600
        self.tools.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                        deviceScaleFactor=scale, mobile=mobile)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.tools.call("Emulation.setEmulatedMedia", features=[feature])

    def value(self, expression):
        answer = self.tools.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                                 returnByValue=True)
        assert "exceptionDetails" not in answer, (expression, answer)
        return answer["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + 60
        while not (found := self.value(expression)):
            text = "document.body.innerText"
            assert time.monotonic() < end, f"{expression} stays false:\n{self.value(text)}"
            time.sleep(0.1)
        return found

    def picture(self, file):
        data = self.tools.call("Page.captureScreenshot", format="png")["data"]
        Path(file).write_bytes(base64.b64decode(data))

    def complaints(self):
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded")
        found = [it for it in self.tools.events if it.get("method") in kinds]
        # The answer to a refused change is one.
        return [it for it in found if "422" not in json.dumps(it)]


DRAWN = """[...document.querySelectorAll("canvas")].every(it => {
    const data = it.getContext("2d").getImageData(0, 0, it.width, it.height).data;
    return data.some((x, at) => at % 4 == 3 && x > 200);
})"""
MOVED = """(async () => {
    const canvas = document.querySelector("canvas"), before = canvas.toDataURL();
    for (let round = 0; round < 100; round++) {
        await new Promise(go => setTimeout(go, 100));
        if (canvas.toDataURL() != before) return true;
    }
    return false;
})()"""
SET = """(() => {
    const field = document.querySelector("article input[name=%s]");
    field.value = "%s";
    field.dispatchEvent(new Event("change"));
})()"""
PLACE = "document.querySelector('article input[aria-label^=%s]').value"
SLIDE = """(() => {
    const range = document.querySelector("article input[aria-label^=%s]");
    range.value = %d;
    range.dispatchEvent(new Event("input"));
    range.dispatchEvent(new Event("change"));
})()"""
FITS = "document.documentElement.scrollWidth <= innerWidth"
SETTINGS = "document.querySelector('.settings').textContent.includes('%s')"
LIGHTNESS = "Number(/\\d+/.exec(getComputedStyle(document.%s).%s)[0])"
FOREIGN = """fetch("%sset", {method: "POST", mode: "no-cors", %s}).then(() => true, () => false)"""
BODY = """body: '{"change": {"loss": "100%"}}'"""


def main(url, folder, seconds):
    browser, tools = start("")
    try:
        page = Page(tools)
        page.be(390, 844, 2, "dark")
        page.visit(url)
        page.wait("document.querySelectorAll('article').length == 2")
        page.wait("document.querySelector('dd').textContent != '–'")
        assert page.value(DRAWN) and page.value(MOVED)
        assert page.value(FITS), "wider than a phone"
        assert page.value(LIGHTNESS % ("body", "backgroundColor")) < 60
        assert page.value(LIGHTNESS % ("body", "color")) > 180
        page.value(SET % ("loss", "2%"))
        page.wait(SETTINGS % "loss=0.02")
        page.value(SLIDE % ("delay", 700))
        page.wait(SETTINGS % "delay=100ms")
        place = page.value(PLACE % "rate")
        assert page.value(SET % ("rate", "fast") + ", " + PLACE % "rate") == place, "a jump"
        page.wait("document.querySelector('#changes .bad')?.textContent.includes('rate=fast')")
        page.wait("document.querySelector('article .bad').textContent.includes('rate=fast')")
        page.wait("document.querySelectorAll('#changes li:not(.bad)').length == 2")
        time.sleep(float(seconds))
        page.value("document.activeElement.blur(); byId('span').value = 30; redraw()")
        page.picture(f"{folder}/phone-dark.png")
        for scheme, light in (("light", True), ("dark", False)):
            page.be(1280, 940, 1, scheme)
            page.wait(FITS)
            assert (page.value(LIGHTNESS % ("body", "backgroundColor")) > 200) == light
            time.sleep(1)
            page.picture(f"{folder}/live-view-{scheme}.png")
        assert not page.complaints(), page.complaints()
        # A page of another origin, which even knows the token.
        page.visit("data:text/html,<title>other</title>")
        page.wait("document.title == 'other'")
        page.value(FOREIGN % (url, BODY))
        page.value(FOREIGN % (url, BODY + ", headers: {'content-type': 'text/plain'}"))
        cors = FOREIGN.replace("no-cors", "cors") % (url, "headers: {'content-type': "
                                                          "'application/json'}, " + BODY)
        assert page.value(cors) is False
    finally:
        browser.kill()
        browser.wait()


main(*sys.argv[1:])
