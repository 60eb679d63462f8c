package main

import (
	"fmt"
	"strings"
)

// kernel is a kernel that can be booted.
type kernel struct {
	name  string
	arch  string // GOARCH
	about string
	// The Debian package with the kernel: the newest one of suite whose name matches
	// pattern. Exact versions vanish from mirrors.
	suite   string
	pattern string
	// parts are the kernel's other packages: see fetch. Since 6.19, its modules and its
	// configuration have packages of their own.
	parts []string
	// built is true if the package has the source. The kernel is then built with
	// nobpf.config.
	built bool
	// counters makes QEMU emulate the CPU's performance counters, which it can do for
	// arm64. A guest that samples cycles may hang forever, so only the guest that needs
	// counters has them.
	counters bool
}

var kernels = []kernel{
	{name: "6.1", arch: "amd64", about: "Debian 12", suite: "bookworm", pattern: `linux-image-6\.1\.0-\d+-cloud-amd64`},
	{name: "nobpf", arch: "amd64", about: "6.1 without bpf(2) and BTF, built here", suite: "bookworm", pattern: `linux-source-6\.1`, built: true},
	{name: "arm64", arch: "arm64", about: "6.1, Debian 12", suite: "bookworm", pattern: `linux-image-6\.1\.0-\d+-cloud-arm64`},
	{name: "5.10", arch: "amd64", about: "Debian 11", suite: "bullseye-security", pattern: `linux-image-5\.10\.0-\d+-cloud-amd64`},
	{name: "6.1-rt", arch: "amd64", about: "Debian 12, real-time", suite: "bookworm", pattern: `linux-image-6\.1\.0-\d+-rt-amd64`},
	{name: "6.12", arch: "amd64", about: "Debian 12 backports", suite: "bookworm-backports", pattern: `linux-image-6\.12\.\d+\+deb12-cloud-amd64`},
	{name: "7", arch: "amd64", about: "Debian 13 backports", suite: "trixie-backports", pattern: `linux-binary-7\.\d+\.\d+\+deb13-cloud-amd64`, parts: []string{"modules", "base"}},
	{name: "arm64-pmu", arch: "arm64", about: "6.1, Debian 12, with performance counters", suite: "bookworm", pattern: `linux-image-6\.1\.0-\d+-cloud-arm64`, counters: true},
	{name: "arm64-6.12", arch: "arm64", about: "Debian 12 backports", suite: "bookworm-backports", pattern: `linux-image-6\.12\.\d+\+deb12-cloud-arm64`},
}

func kernelNamed(name string) (kernel, error) {
	var names []string
	for _, k := range kernels {
		if k.name == name {
			return k, nil
		}
		names = append(names, k.name)
	}
	return kernel{}, fmt.Errorf("no kernel is named %q; there are %s", name, strings.Join(names, ", "))
}

// isPackage reports whether the package of this name has the kernel.
func (k kernel) isPackage(name string) bool { return matches(k.pattern, name) }

// cached returns the name of the kernel's package in the cache.
func (k kernel) cached() string { return strings.TrimSuffix(k.name, "-pmu") }

// machine is what QEMU emulates for an architecture. The options have these reasons:
//
//   - pauth-impdef=on: without it, an arm64 kernel boots four times slower.
//   - cx16=off: QEMU 7.2 spoils the flags at cmpxchg16b, and Linux 6.12 dies while it boots. Without
//     this instruction, the kernel's allocators take locks.
//   - erms=off, fsrm=off: QEMU copies byte by byte for fast string instructions. Without these, kernels
//     and programs copy words, and a guest's tests take a seventh less time.
//   - no_timer_check: an amd64 kernel tests its timer for a very short time. If a busy host does not run
//     QEMU during that time, the kernel panics.
type machine struct {
	command []string
	cpu     string // the CPU that QEMU emulates
	less    string // appended to cpu, turns performance counters off
	console string
	boot    string // appended to the kernel's command line
	triple  string // prefix of the GNU tools
	debian  string // Debian's name of the architecture
	loader  string // the program interpreter of the psABI
	compat  string // the interpreter of 32-bit programs; "" if the machine cannot run them
}

var machines = map[string]machine{
	"amd64": {
		command: []string{"qemu-system-x86_64", "-machine", "q35"}, cpu: "max,cx16=off,erms=off,fsrm=off", less: ",pmu=off",
		console: "ttyS0", boot: " no_timer_check", triple: "x86_64-linux-gnu", debian: "amd64", loader: "/lib64/ld-linux-x86-64.so.2",
		compat: "/lib/ld-linux.so.2",
	},
	"arm64": {
		command: []string{"qemu-system-aarch64", "-machine", "virt"}, cpu: "max,pauth-impdef=on", less: ",pmu=off",
		console: "ttyAMA0", triple: "aarch64-linux-gnu", debian: "arm64", loader: "/lib/ld-linux-aarch64.so.1",
	},
}
