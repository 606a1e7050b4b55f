#!/usr/bin/env python3
"""Sends one request to a run: ask.py NAME REQUEST, as in ask.py lab '{"do": "status"}'."""

import json
import socket
import subprocess
import sys

name, request = sys.argv[1:]
listed = subprocess.run(["windfall", "ls", "--json"], check=True, capture_output=True, text=True)
runs = [json.loads(line) for line in listed.stdout.splitlines()]
path = next((run["socket"] for run in runs if run["name"] == name), None)
if path is None:
    sys.exit(f"there is no run {name}")
# An abstract socket is printed with @ in place of the zero byte at its beginning.
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
    connection.connect("\0" + path[1:] if path.startswith("@") else path)
    connection.sendall(request.encode() + b"\n")
    print(connection.makefile().readline(), end="")
