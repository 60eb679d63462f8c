package kcore

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The kernel's banner is at an address that /proc/kallsyms tells, and is what /proc/version says.
func TestLiveTheKernelsBannerIsInItsMemory(t *testing.T) {
	r, err := Open("/proc/kcore")
	if errors.Is(err, ErrNone) {
		t.Skip(ErrNone)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	version, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(version))
	if _, err := r.ReadAt(b, address(t, "linux_banner")); err != nil || string(b) != string(version) {
		t.Errorf("linux_banner is %q, %v; want %q", b, err, version)
	}
	if n, err := r.ReadAt(b, 0); n != 0 || err == nil {
		t.Errorf("%d bytes at address 0, %v", n, err)
	}
}

// address returns the address of a symbol of the kernel.
func address(t *testing.T, name string) uint64 {
	t.Helper()
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && words[2] == name {
			n, err := strconv.ParseUint(words[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Skip("no variables in /proc/kallsyms (CONFIG_KALLSYMS_ALL)")
	return 0
}
