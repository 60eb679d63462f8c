package callchain

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// emulated is a program of another machine in qemu's user emulation, stepped
// through qemu's gdb server.
type emulated struct {
	conn net.Conn
	in   *bufio.Reader
}

// startEmulated starts a program that stops at its first instruction.
func startEmulated(t *testing.T, emulator, program string) *emulated {
	t.Helper()
	path, err := exec.LookPath(emulator)
	if err != nil {
		t.Skipf("%s is missing", emulator)
	}
	socket := filepath.Join(t.TempDir(), "gdb")
	cmd := exec.Command(path, "-g", socket, program)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for deadline := time.Now().Add(testlimit.End); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			t.Cleanup(func() { conn.Close() })
			if err := conn.SetDeadline(time.Now().Add(testlimit.End)); err != nil { // of all its answers
				t.Fatal(err)
			}
			return &emulated{conn: conn, in: bufio.NewReader(conn)}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen for a debugger: %v", emulator, err)
		}
	}
}

// ask sends one command of gdb's remote protocol and gives the answer.
func (e *emulated) ask(command string) (string, error) {
	sum := byte(0)
	for i := range len(command) {
		sum += command[i]
	}
	if _, err := fmt.Fprintf(e.conn, "$%s#%02x", command, sum); err != nil {
		return "", err
	}
	if _, err := e.in.ReadString('$'); err != nil { // skips the acknowledgement
		return "", err
	}
	answer, err := e.in.ReadString('#')
	if err != nil {
		return "", err
	}
	if _, err := e.in.Discard(2); err != nil {
		return "", err
	}
	_, err = e.conn.Write([]byte{'+'})
	return answer[:len(answer)-1], err
}

// registers reads the first n 64-bit registers of the machine.
func (e *emulated) registers(n int) ([]uint64, error) {
	answer, err := e.ask("g")
	if err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(answer[:min(len(answer), 16*n)])
	if err != nil || len(raw) != 8*n {
		return nil, fmt.Errorf("registers %q: %v", answer, err)
	}
	values := make([]uint64, n)
	for i := range values {
		values[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return values, nil
}

// memory reads size bytes at an address.
func (e *emulated) memory(addr, size uint64) ([]byte, error) {
	var data []byte
	for size > 0 {
		n := min(size, 1024)
		answer, err := e.ask(fmt.Sprintf("m%x,%x", addr, n))
		if err != nil {
			return nil, err
		}
		part, err := hex.DecodeString(answer)
		if err != nil || uint64(len(part)) != n {
			return data, fmt.Errorf("memory at %#x: %q", addr, answer)
		}
		data = append(data, part...)
		addr, size = addr+n, size-n
	}
	return data, nil
}
