import sys
import threading
import time

lock = threading.Lock()
lock.acquire()


def nap(depth, seconds):
    if depth > 0:
        return nap(depth - 1, seconds)
    time.sleep(seconds)


def hold(depth, seconds):
    if depth > 0:
        return hold(depth - 1, seconds)
    lock.acquire(timeout=seconds)


for _ in range(int(sys.argv[1])):
    nap(10, int(sys.argv[2]) / 1e6)
    hold(10, int(sys.argv[2]) / 1e6)
