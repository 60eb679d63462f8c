package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// accelerator is a way to execute a guest's instructions.
type accelerator struct {
	name     string
	accel    string        // QEMU's -accel
	cpu      string        // QEMU's -cpu; "" for that of the emulated machine
	emulated bool          // the guest's tests do less, and wait longer
	bootTime time.Duration // how long the guest may take until it says that it is up
}

var (
	// byKVM executes them on the host's CPUs. A guest boots in two seconds.
	byKVM = accelerator{name: "KVM", accel: "kvm", cpu: "host", bootTime: 20 * time.Second}
	// emulation uses one thread for all CPUs of the guest: with more, amd64 guests hang
	// while ftrace patches code. On an idle host, a guest boots in a few seconds.
	emulation = accelerator{name: "emulation", accel: "tcg,thread=single", emulated: true, bootTime: 2 * time.Minute}
)

// kvm knows whether /dev/kvm can run guests. The device alone does not mean that: on a
// host that is a guest itself, Debian's kernels may hang while they boot. A file in the
// cache records a failure until the host boots again.
type kvm struct{ file string }

func newKVM(c *cache) kvm {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return kvm{filepath.Join(c.dir, "kvm-failed-"+strings.TrimSpace(string(id)))}
}

// mayWork reports whether to try KVM for a guest of this architecture.
func (k kvm) mayWork(arch string) bool {
	if arch != runtime.GOARCH || unix.Access("/dev/kvm", unix.R_OK|unix.W_OK) != nil {
		return false
	}
	_, err := os.Stat(k.file)
	return os.IsNotExist(err)
}

// failed records that a guest did not come up, and removes the records of earlier boots of
// the host.
func (k kvm) failed() {
	before, _ := filepath.Glob(filepath.Join(filepath.Dir(k.file), "kvm-failed-*"))
	for _, file := range before {
		os.Remove(file)
	}
	_ = os.WriteFile(k.file, nil, 0o644) // if this fails, the next run tries again
}
