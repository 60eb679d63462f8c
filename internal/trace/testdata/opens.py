import os
import sys


def burn(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x


def attempt(path):
    try:
        os.open(path, os.O_RDONLY)
    except OSError:
        burn(int(sys.argv[2]))


def one():
    attempt("/nonexistent/one")


def two():
    attempt("/nonexistent/two")


def down(depth):
    if depth > 0:
        down(depth - 1)
        return
    one()
    two()
    two()


print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    down(10)
