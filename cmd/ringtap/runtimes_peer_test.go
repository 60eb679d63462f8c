package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// A round of a runtime's program (testdata/runtimes).
const (
	roundReads = 100
	roundBytes = roundReads * 4096
	roundNaps  = 5
	roundNap   = 5e6 // nanoseconds
)

// runtimes are those that run most servers, and how they show their own functions.
var runtimes = []struct {
	name  string
	need  string // a command
	start func(t *testing.T) *exec.Cmd
	// read is the innermost function of a read that has a name without the runtime's
	// help, and readIt and napHere are the program's own.
	read, readIt, napHere string
	ready                 func(t *testing.T, pid int) // called when the program has warmed up
}{
	{"Java", "jcmd", startJava, "readBytes", "void Rounds.readIt(java.io.FileInputStream)", "void Rounds.napHere()", mapJava},
	{"Node", "node", startNode, "uv_fs_read", "readIt", "napHere", nil},
	{"Go", "go", startGo, "syscall.pread", "main.readIt", "main.napHere", nil},
}

func startJava(t *testing.T) *exec.Cmd {
	dir := t.TempDir()
	if out, err := exec.Command("javac", "-d", dir, "testdata/runtimes/Rounds.java").CombinedOutput(); err != nil {
		t.Skipf("javac: %v\n%s", err, out)
	}
	// Compiled at once, as if it had run for long.
	return exec.Command("java", "-Xmx64m", "-XX:+PreserveFramePointer", "-Xcomp", "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,Rounds::*", "-cp", dir, "Rounds")
}

// mapJava has Java write a map of its functions, as it does since version 17.
func mapJava(t *testing.T, pid int) {
	t.Cleanup(func() { _ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid)) })
	if out, err := exec.Command("jcmd", strconv.Itoa(pid), "Compiler.perfmap").CombinedOutput(); err != nil {
		t.Skipf("jcmd: %v\n%s", err, out)
	}
}

func startNode(t *testing.T) *exec.Cmd {
	program, err := filepath.Abs("testdata/runtimes/rounds.js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "--perf-basic-prof", "--always-sparkplug", program)
	cmd.Dir = t.TempDir() // it writes a log there
	t.Cleanup(func() { _ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)) })
	return cmd
}

func startGo(t *testing.T) *exec.Cmd {
	program := filepath.Join(t.TempDir(), "rounds")
	if out, err := exec.Command("go", "build", "-o", program, "testdata/runtimes/rounds.go").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exec.Command(program)
}

// What a program in each of the runtimes says of itself is what collectors say that
// watch it as a process, and in its control group.
func TestPeerRuntimesSayWhatCollectorsSay(t *testing.T) {
	compareRuntimes(t, "-p", "-g")
}

// What all others do meanwhile decides how many records there are.
func TestPeerRuntimesSayWhatCollectorsOfTheWholeSystemSay(t *testing.T) {
	testlimit.Thorough(t)
	compareRuntimes(t, "")
}

// compareRuntimes has collectors watch each runtime by each of the flags.
func compareRuntimes(t *testing.T, flags ...string) {
	t.Helper()
	needTracefs(t, "uprobe_events")
	for _, runtime := range runtimes {
		t.Run(runtime.name, func(t *testing.T) {
			if _, err := exec.LookPath(runtime.need); err != nil {
				t.Skipf("%s is not installed", runtime.need)
			}
			group := filepath.Join(truth.Cgroup2(t), "ringtap-test-"+strconv.Itoa(os.Getpid()))
			if err := os.Mkdir(group, 0o755); err != nil {
				t.Skipf("no control group can be made: %v", err)
			}
			t.Cleanup(func() {
				if err := removeGroup(group); err != nil {
					t.Error(err)
				}
			})
			cmd := runtime.start(t)
			program := startRounds(t, cmd)
			pid := cmd.Process.Pid
			if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
				t.Fatal(err)
			}
			program.rounds(t, 3)
			if runtime.ready != nil {
				runtime.ready(t, pid)
			}
			testlimit.Lossless(t, func() (lost uint64) {
				targets := map[string][]string{"-p": {"-p", strconv.Itoa(pid)}, "-g": {"-g", group}}
				var runs []*collectors
				for _, flag := range flags {
					runs = append(runs, startCollectors(t, []string{"io", "off-cpu"}, targets[flag]...))
				}
				const rounds = 60
				napped := program.rounds(t, rounds)
				for i, run := range runs {
					p, said := run.end(t)
					if n := p.lost(); n > 0 {
						t.Log(said)
						lost += n
						continue
					}
					if size, count := p.below(pid, "IOSize", runtime.read), p.below(pid, "IOCount", runtime.read); size != rounds*roundBytes || count != rounds*roundReads {
						t.Errorf("%s: %d bytes by %d reads below %s, want %d by %d", run, size, count, runtime.read, rounds*roundBytes, rounds*roundReads)
					}
					// On the whole system copies of the stack begin smaller.
					if count := p.below(pid, "IOCount", runtime.readIt); flags[i] != "" && count < rounds*roundReads/4 {
						t.Errorf("%s: %d of %d reads are below %s", run, count, rounds*roundReads, runtime.readIt)
					}
					// Where a CPU is wanted by many a nap may be over before it has begun.
					naps, took := p.below(pid, "OffCPUCount", runtime.napHere), p.below(pid, "OffCPUTime", runtime.napHere)+p.below(pid, "PreemptedTime", runtime.napHere)
					if naps < rounds*roundNaps*9/10 || took < rounds*roundNaps*roundNap*9/10 || took > napped {
						t.Errorf("%s: %d naps of %d ns below %s; want %d and from %d to %d ns", run, naps, took, runtime.napHere, rounds*roundNaps, int64(rounds*roundNaps*roundNap), napped)
					}
					if t.Failed() {
						t.Log(said)
					}
				}
				return lost
			})
		})
	}
}

// rounder is a program that does rounds.
type rounder struct {
	*exec.Cmd
	in  *os.File
	out *bufio.Reader
}

// startRounds starts a program that does rounds.
func startRounds(t *testing.T, cmd *exec.Cmd) *rounder {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &rounder{cmd, w, bufio.NewReader(out)}
}

// rounds has it do so many rounds, and returns how long it has napped, by its own
// clock, in nanoseconds.
func (r *rounder) rounds(t *testing.T, n int) (napped uint64) {
	t.Helper()
	late := time.AfterFunc(testlimit.End, func() { _ = r.Process.Kill() })
	defer late.Stop()
	for range n {
		if _, err := r.in.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		line, err := r.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		ns, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		napped += ns
	}
	return napped
}
