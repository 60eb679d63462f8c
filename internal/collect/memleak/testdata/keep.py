import sys
import time

kept = []


def one():
    kept.append(bytearray(100000))


def two():
    kept.append(bytearray(100000))
    kept.append(bytearray(100000))


def three():
    kept.append(bytearray(100000))
    kept.append(bytearray(100000))
    kept.append(bytearray(100000))


def passing():
    bytearray(100000)


def down(depth, rest):
    if depth > 0:
        down(depth - 1, rest)
        return
    one()
    time.sleep(rest)
    two()
    time.sleep(rest)
    passing()
    three()
    time.sleep(rest)


print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    down(10, float(sys.argv[2]))
print("done", flush=True)
sys.stdin.readline()
