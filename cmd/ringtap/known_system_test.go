package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// loopDevice makes a block device of a file.
func loopDevice(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for try := range 10 {
		out, err := exec.Command("busybox", "losetup", "-f").Output()
		device := strings.TrimSpace(string(out))
		if err != nil || device == "" {
			t.Skipf("no loop device: %v", err)
		}
		if out, err := exec.Command("busybox", "losetup", device, file).CombinedOutput(); err != nil {
			if try == 9 {
				t.Skipf("no loop device: %v %s", err, out)
			}
			continue // someone else was faster
		}
		t.Cleanup(func() { _ = exec.Command("busybox", "losetup", "-d", device).Run() })
		return device
	}
	return ""
}

// listen takes connections until the test ends, and returns the port.
func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
