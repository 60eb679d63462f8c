import os
import sys
import time


def rest(ms):
    if ms > 0:
        time.sleep(ms / 1000)


def one():
    os.getppid()


def two():
    os.getppid()
    os.getppid()


def three():
    os.getppid()
    os.getppid()
    os.getppid()


def down(depth, ms):
    if depth > 0:
        down(depth - 1, ms)
        return
    one()
    rest(ms)
    two()
    rest(ms)
    three()
    rest(ms)


print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    down(10, int(sys.argv[2]))
print("done", flush=True)
sys.stdin.readline()
