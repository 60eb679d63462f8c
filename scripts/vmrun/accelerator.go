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
	cpu      string        // QEMU's -cpu, where it is not the emulated machine's
	emulated bool          // the guest's tests do less, and wait longer
	bootTime time.Duration // within which the guest says that it is up
}

var (
	// byKVM runs them on the host's CPUs, which takes a guest two seconds to boot.
	byKVM = accelerator{name: "KVM", accel: "kvm", cpu: "host", bootTime: 20 * time.Second}
	// emulation has one thread for all CPUs: with more, amd64 guests hang while
	// ftrace patches code. A guest takes a few seconds to boot where nothing else runs.
	emulation = accelerator{name: "emulation", accel: "tcg,thread=single", emulated: true, bootTime: 2 * time.Minute}
)

// kvm knows whether /dev/kvm runs guests. That the device is there does not say so:
// on a host that is a guest itself, Debian's kernels may hang while they boot. A
// failure is remembered in a file of the cache until the host boots again.
type kvm struct{ file string }

func newKVM(c *cache) kvm {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return kvm{filepath.Join(c.dir, "kvm-failed-"+strings.TrimSpace(string(id)))}
}

// mayWork tells whether it is worth a try for a guest of that architecture.
func (k kvm) mayWork(arch string) bool {
	if arch != runtime.GOARCH || unix.Access("/dev/kvm", unix.R_OK|unix.W_OK) != nil {
		return false
	}
	_, err := os.Stat(k.file)
	return os.IsNotExist(err)
}

// failed notes that a guest did not come up, and forgets what was noted of boots
// before.
func (k kvm) failed() {
	before, _ := filepath.Glob(filepath.Join(filepath.Dir(k.file), "kvm-failed-*"))
	for _, file := range before {
		os.Remove(file)
	}
	_ = os.WriteFile(k.file, nil, 0o644) // without it the next run tries again
}
