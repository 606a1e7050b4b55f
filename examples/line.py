#!/usr/bin/env python3
"""A serial line between two programs, without hardware: line.py SHARE COMMAND COMMAND

Inverts a bit in this SHARE of the bytes. Each command finds its end of the line in $LINE.
Ends with the second command."""

import os
import random
import select
import signal
import subprocess
import sys
import tty

share = float(sys.argv[1])
ends = [os.openpty() for _ in range(2)]
programs = []
for (_, end), command in zip(ends, sys.argv[2:4]):
    tty.setraw(end)
    variables = {**os.environ, "LINE": os.ttyname(end)}
    program = subprocess.Popen(command, shell=True, env=variables, start_new_session=True)
    programs.append(program)

ours = [end for end, _ in ends]
draw = random.Random(1)
while programs[1].poll() is None:
    for end in select.select(ours, [], [], 0.1)[0]:
        data = bytearray(os.read(end, 256))
        for at in range(len(data)):
            if draw.random() < share:
                data[at] ^= 1 << draw.randrange(8)
        os.write(ours[1 - ours.index(end)], data)
os.killpg(programs[0].pid, signal.SIGTERM)
programs[0].wait()
sys.exit(programs[1].returncode)
