import os
import subprocess
import sys
import threading
import time


def wait(rounds):
    for _ in range(rounds):
        time.sleep(0.01)


def in_parent(rounds):
    wait(rounds)


def in_thread(rounds):
    wait(rounds)


def in_child(rounds):
    wait(rounds)


def in_new_program(rounds):
    wait(rounds)


rounds = int(sys.argv[1])
if len(sys.argv) > 2:
    in_new_program(rounds)
    sys.exit()
thread = threading.Thread(target=in_thread, args=(rounds,))
thread.start()
in_parent(rounds)
thread.join()
child = os.fork()
if child == 0:
    in_child(rounds)
    os._exit(0)
os.waitpid(child, 0)
subprocess.check_call([sys.executable, *sys.argv, "again"])
