package session

import (
	"encoding/binary"
	"errors"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/host/kcore"
	"github.com/ringtap/ringtap/internal/process"
)

// findTasks prepares to find the task_struct of threads, once.
func (k *kernelMemory) findTasks(host plan.Host) error {
	if k.tasks != nil {
		return nil
	}
	if err := k.open(); err != nil {
		return err
	}
	if nested() {
		return errors.New("the kernel has other numbers for the processes of this container")
	}
	namespace, _, err := host.Symbol("init_pid_ns", nil)
	if err != nil {
		return err
	}
	started, ok := host.Offset("struct task_struct", "start_time")
	if !ok {
		return errors.New("the kernel's type information has no task_struct.start_time")
	}
	k.started = started
	k.tasks, err = kcore.FindTasks(namespace, k.read, host.Offset)
	return err
}

// taskAt is where the task_struct of a thread was found for a hit.
type taskAt struct {
	tid         uint32
	at, address uint64
}

// ofTask implements live.Options.Task. A thread that started after timestamp has reused the TID of
// a thread that is gone, so ofTask returns false. Addresses in user memory are read from the
// process.
func (k *kernelMemory) ofTask(tid uint32, timestamp uint64, path []check.Step, size int) (b []byte, ok bool) {
	if last := (taskAt{tid, timestamp, k.last.address}); k.last != last { // all values of a hit are those of one thread
		address, ok := k.tasks.Find(int(tid))
		var started [8]byte
		if !ok || !k.read(address+uint64(k.started), started[:]) || binary.NativeEndian.Uint64(started[:]) > timestamp {
			return nil, false
		}
		k.last = taskAt{tid, timestamp, address}
	}
	task := k.last.address
	if len(path) == 0 {
		return binary.NativeEndian.AppendUint64(nil, task), true
	}
	return live.Follow(task, path, min(max(size, 0), maxMemory), func(address uint64, size int) []byte {
		b := make([]byte, size)
		if int64(address) < 0 {
			return k.upTo(address, b)
		}
		return b[:process.Host{}.ReadMemory(int(tid), address, b)]
	}), true
}
