import os
import subprocess
import sys
import threading


def burn(rounds):
    for _ in range(rounds):
        x = 0
        for i in range(1000):
            x += i * i % 7


def in_parent(rounds):
    burn(rounds)


def in_thread(rounds):
    burn(rounds)


def in_child(rounds):
    burn(rounds)


def in_new_program(rounds):
    burn(rounds)


def parent_and_thread():
    thread = threading.Thread(target=in_thread, args=(rounds,))
    thread.start()
    in_parent(rounds)
    thread.join()


rounds = int(sys.argv[1])
if len(sys.argv) > 2:
    in_new_program(rounds)
    sys.exit()
parent_and_thread()
child = os.fork()
if child == 0:
    in_child(rounds)
    os._exit(0)
os.waitpid(child, 0)
subprocess.check_call([sys.executable, *sys.argv, "again"])
