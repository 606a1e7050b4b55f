"""Server and client of aiohttp over a link like LTE: pip install aiohttp, then
python3 -m pytest -p windfall.pytest_plugin examples/test_aiohttp.py
"""

import sys
from pathlib import Path

SERVE = """from aiohttp import web
async def echo(request):
    return web.Response(body=await request.read())
app = web.Application()
app.router.add_post("/", echo)
web.run_app(app, port=8000, print=None)
"""
POST = """import aiohttp, asyncio
async def main():
    data = bytes(range(256)) * 400
    async with aiohttp.ClientSession() as session:
        async with session.post("http://far:8000/", data=data) as answer:
            print(answer.status, await answer.read() == data)
asyncio.run(main())
"""
LTE = Path(__file__).with_name("lte.json")


def test_what_is_posted_by_aiohttp_comes_back(windfall_link):
    link = windfall_link(rate_trace=LTE, delay="30ms", jitter="10ms normal", reorder="1% 25%", seed=7)
    link.far.popen([sys.executable, "-c", SERVE])
    link.wait_port(8000)
    answer = link.near.run([sys.executable, "-c", POST], capture_output=True, text=True, timeout=120)
    assert answer.stdout == "200 True\n", answer.stderr
