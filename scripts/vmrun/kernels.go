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
	// A package of Debian with a finished kernel: the newest of suite whose
	// name matches. Exact versions vanish from mirrors.
	suite   string
	pattern string
	// parts are what else the kernel comes in: since 6.19 its modules and its
	// configuration have packages of their own.
	parts []string
	// built says that the kernel is built from the source package, with
	// nobpf.config, instead.
	built bool
	// counters has QEMU emulate the CPU's performance counters, which it can for
	// arm64. A guest that samples cycles may stand still for good, so that only
	// what needs them has them.
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

// isPackage tells whether the kernel comes in the package of that name.
func (k kernel) isPackage(name string) bool { return matches(k.pattern, name) }

// cached is the name that the kernel's package is kept under.
func (k kernel) cached() string { return strings.TrimSuffix(k.name, "-pmu") }

// machine is what QEMU emulates for an architecture. Without pauth-impdef=on an
// arm64 kernel boots four times slower. QEMU 7.2 spoils the flags at cmpxchg16b, so
// that Linux 6.12 dies while it boots; without it the kernel's allocators take locks.
// Fast string instructions (ERMS, FSRM) are slow there: QEMU copies byte by byte. Without them
// kernels and programs copy words, and a guest's tests take a seventh less time.
// Whether the timer works an amd64 kernel tries for so short a time that a busy host
// may not run QEMU meanwhile, and panics.
type machine struct {
	command []string
	cpu     string // that QEMU emulates
	less    string // what makes it one without performance counters
	console string
	boot    string // more of the kernel's command line
	triple  string // of the GNU tools
	debian  string // Debian's name of the architecture
	loader  string // the program interpreter of the psABI
	compat  string // that of 32-bit programs, if the machine runs them
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
