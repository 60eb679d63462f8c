package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// goServer blocks one thread in load, which reads a pipe that nobody writes to, and has
// threads without work: their goroutines wait for a channel.
const goServer = `package main

import (
	"fmt"
	"sync"
	"syscall"
	"time"
)

//go:noinline
func load(fd int) { syscall.Read(fd, make([]byte, 1)) }

func main() {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	go load(pipe[0])
	var threads sync.WaitGroup
	for i := 0; i < 8; i++ { // their threads stay
		threads.Add(1)
		go func() {
			nap := syscall.NsecToTimespec(1e8)
			syscall.Nanosleep(&nap, nil)
			threads.Done()
		}()
	}
	threads.Wait()
	fmt.Println("ready")
	for {
		time.Sleep(10 * time.Millisecond)
	}
}
`

func TestLiveOffCPUOfAGoServerPutsIdleThreadsLast(t *testing.T) {
	needTracefs(t, "events/sched/sched_switch/format")
	dir := compiled.Recipe{
		Sources:  map[string]string{"main.go": goServer, "go.mod": "module server\n\ngo 1.18\n"},
		Commands: [][]string{{"go", "build", "-o", "server", "."}},
		Env:      []string{"GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0"},
	}.Dir(t)
	cmd := exec.Command(filepath.Join(dir, "server"))
	startReady(t, cmd)
	for _, wakers := range []string{"--wakers=false", "--wakers"} {
		folded := filepath.Join(t.TempDir(), "out.folded")
		var out, errs bytes.Buffer
		args := []string{"ringtap", "off-cpu", wakers, "-p", fmt.Sprint(cmd.Process.Pid), "-d", "0.5", "--out", folded}
		if code := run(t.Context(), args, &console{stdout: &out, stderr: &errs}); code != exitDone {
			t.Fatalf("exit code %d\n%s", code, &errs)
		}
		_, functions, _ := strings.Cut(out.String(), "FUNCTION\n")
		if first, _, _ := strings.Cut(functions, "\n"); !strings.HasSuffix(first, " main.load (server)") {
			t.Errorf("%s: %q stands first", wakers, first)
		}
		end := regexp.MustCompile(fmt.Sprintf(`\n\[Go scheduler idle\] [0-9.]+ m?s off-CPU, \d+ waits, not counted above\n.*: ringtap stack %d\n$`, cmd.Process.Pid))
		if !end.Match(out.Bytes()) {
			t.Errorf("%s: no such end", wakers)
		}
		text, err := os.ReadFile(folded)
		if err != nil {
			t.Fatal(err)
		}
		for _, function := range []string{"runtime.findRunnable", "main.load"} {
			if !strings.Contains(string(text), ";"+function+";") {
				t.Errorf("%s: the folded stacks lack %s", wakers, function)
			}
		}
		if t.Failed() {
			t.Logf("%s\n%s", &out, text)
		}
	}
}
