package snapshot

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

const goLocks = `package main

import (
	"fmt"
	"os"
	"sync"
)

var mu sync.Mutex

func main() {
	rw := new(sync.RWMutex)
	mu.Lock()
	rw.RLock()
	go mu.Lock()
	go rw.Lock()
	fmt.Printf("%p %p\n", &mu, rw)
	os.Stdin.Read(make([]byte, 1))
}
`

func TestLiveGoroutinesNameTheMutexThatTheyWaitFor(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not installed")
	}
	recipe := compiled.Recipe{
		Sources:  map[string]string{"main.go": goLocks, "go.mod": "module locks\n\ngo 1.18\n"},
		Commands: [][]string{{"go", "build", "-o", "locks", "."}},
		Env:      []string{"GOFLAGS=", "CGO_ENABLED=0"},
	}
	cmd := exec.Command(filepath.Join(recipe.Dir(t), "locks"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var mu, rw uint64
	if _, err := fmt.Sscanf(line, "0x%x 0x%x", &mu, &rw); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	want := map[string]string{
		"sync.Mutex.Lock":   fmt.Sprintf(`sync.Mutex at %#x (main.mu), held by ""`, mu),
		"sync.RWMutex.Lock": fmt.Sprintf(`sync.RWMutex at %#x, held by "1 reader"`, rw),
	}
	got := make(map[string]string)
	for end := time.Now().Add(testlimit.End); len(got) < len(want) && time.Now().Before(end); {
		for _, g := range take(t, Options{Locks: true}, cmd.Process.Pid).Goroutines {
			if g.Lock.IsMutex() {
				got[g.State] = fmt.Sprintf("%s, held by %q", g.Lock, g.HeldBy)
			}
		}
	}
	for state, lock := range want {
		if got[state] != lock {
			t.Errorf("goroutines in %s wait for %q, want %q", state, got[state], lock)
		}
	}
}
