# Threads that live for some milliseconds, as those of a server with one for each connection.
import sys
import threading


def burn(n):
    while n:
        n -= 1


def brief():
    burn(40000)


for _ in range(int(sys.argv[1])):
    threads = [threading.Thread(target=brief) for _ in range(2)]
    for t in threads:
        t.start()
    burn(5000)
    for t in threads:
        t.join()
