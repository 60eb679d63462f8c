# Greenlets as gevent has them: main calls a hub, which calls workers, each of which goes back to
# the hub in the middle of its work.
import sys
import time

import greenlet


def burn(n):
    while n:
        n -= 1


def down(hub, levels):
    if levels:
        return down(hub, levels - 1)
    burn(2000)
    hub.switch()
    burn(2000)


def worker(hub):
    list(map(lambda levels: down(hub, levels), range(4)))


def hub(rounds):
    self = greenlet.getcurrent()
    for _ in range(rounds):
        workers = [greenlet.greenlet(worker) for _ in range(3)]
        while workers:
            for w in workers:
                w.switch(self)
            burn(1000)
            workers = [w for w in workers if not w.dead]


def deep(levels, rounds):
    if levels:
        return max([deep(levels - 1, rounds)], key=lambda x: x or 0)
    return greenlet.greenlet(hub).switch(rounds)


def main():
    deep(2, int(sys.argv[1]))


main()
