package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
)

// mounts are the file systems of the guest. If the kernel lacks one, prepare leaves it
// out, and the tests that need it say so.
var mounts = []struct{ kind, dir string }{
	{"proc", "/proc"},
	{"sysfs", "/sys"},
	{"devtmpfs", "/dev"},
	{"devpts", "/dev/pts"},
	{"tmpfs", "/dev/shm"},
	{"tmpfs", "/run"},
	{"tracefs", "/sys/kernel/tracing"},
	{"debugfs", "/sys/kernel/debug"},
	{"cgroup2", "/sys/fs/cgroup"},
}

// prepare makes a working system of the file system that the kernel unpacked.
func prepare(spec wire.Spec) error {
	if err := ordinaryRoot(); err != nil {
		return fmt.Errorf("make an ordinary mount of the root: %w", err)
	}
	for _, m := range mounts {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			continue // a directory of sysfs that this kernel does not have
		}
		err := unix.Mount(m.kind, m.dir, m.kind, 0, "")
		if err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s: %w", m.dir, err)
		}
	}
	os.Chmod("/tmp", 0o777|os.ModeSticky)
	for link, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0",
		"/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	} {
		os.Symlink(target, link)
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	os.Symlink("config", "/boot/config-"+unix.ByteSliceToString(name.Release[:]))
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	for _, path := range spec.Modules {
		if err := loadModule(path); err != nil {
			return fmt.Errorf("load %s: %w", path, err)
		}
	}
	if err := delegateControllers("/sys/fs/cgroup"); err != nil {
		return err
	}
	for _, entry := range spec.Env { // this process finds programs as its children do
		name, value, _ := strings.Cut(entry, "=")
		os.Setenv(name, value)
	}
	if len(spec.Tests) > 0 {
		for name, value := range map[string]string{
			"perf_event_paranoid": "2", // Linux's default; Debian's is 3
			// An emulated machine has slow interrupts. They would make the kernel lower
			// perf_event_max_sample_rate below what tests ask for.
			"perf_cpu_time_max_percent": "0",
		} {
			if err := os.WriteFile("/proc/sys/kernel/"+name, []byte(value), 0o644); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(spec.Shared, 0o755); err != nil {
		return err
	}
	return os.Chmod(spec.Shared, 0o777|os.ModeSticky)
}

// ordinaryRoot bind-mounts the kernel's first file system over itself, because
// pivot_root(2) does not work on the first mount.
func ordinaryRoot() error {
	if err := os.MkdirAll("/mnt", 0o755); err != nil {
		return err
	}
	if err := unix.Mount("/", "/mnt", "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := unix.Chdir("/mnt"); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return unix.Chdir("/")
}

func loadModule(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	err = unix.FinitModule(int(file.Fd()), "", 0)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// delegateControllers makes perf's control group controller work. Before the first
// write to subtree_control, a new hierarchy has no controllers, and perf's cgroup
// events fail with ENOENT.
func delegateControllers(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil // no control groups
	}
	for _, name := range strings.Fields(string(text)) {
		// A controller that cannot be used (cpu, with real-time tasks) stays off.
		os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+name), 0o644)
	}
	return nil
}

func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
