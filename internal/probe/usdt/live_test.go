package usdt

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// kernelTrace is a private trace instance for a group of events.
type kernelTrace struct {
	dir   string
	group *ftrace.Group
}

func newKernelTrace(t *testing.T) *kernelTrace {
	t.Helper()
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Skipf("tracefs: %v", err)
	}
	group, err := tracefs.NewGroup("uprobe_events")
	if err != nil {
		t.Skipf("user probes: %v", err)
	}
	t.Cleanup(func() { must(t, group.Close()) })
	k := &kernelTrace{dir: filepath.Join(tracefs.Dir(), "instances", group.Name()), group: group}
	must(t, os.Mkdir(k.dir, 0o755))
	t.Cleanup(func() { must(t, os.Remove(k.dir)) })
	return k
}

// define adds an event.
func (k *kernelTrace) define(t *testing.T, event, place string, args []ftrace.FetchArg) {
	t.Helper()
	var words []string
	for _, arg := range args {
		words = append(words, arg.String())
	}
	_, err := k.group.Define(ftrace.Dynamic{Type: 'p', Event: event, Place: place, Args: strings.Join(words, " ")})
	must(t, err)
}

// enable enables all events that were defined.
func (k *kernelTrace) enable(t *testing.T) {
	t.Helper()
	file := filepath.Join(k.dir, "events", k.group.Name(), "enable")
	must(t, os.WriteFile(file, []byte("1"), 0))
	t.Cleanup(func() { must(t, os.WriteFile(file, []byte("0"), 0)) })
}

var tracedEvent = regexp.MustCompile(`: (\w+): \(0x[0-9a-f]+\)(.*)`)

// hits returns "event arg1=… arg2=…" for each hit.
func (k *kernelTrace) hits(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(k.dir, "trace"))
	must(t, err)
	var list []string
	for _, m := range tracedEvent.FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1]+m[2])
	}
	return list
}

// TestLiveTheKernelFetchesTheArgumentsOfEachMark lets the kernel trace every
// mark of a program that knows what it passes.
func TestLiveTheKernelFetchesTheArgumentsOfEachMark(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, program := range programs {
		t.Run(program.name, func(t *testing.T) {
			path := compiled.Copy(t, compile(t, "prog.c", program.flags...))
			img := image(t, path)
			probes, err := Read(img)
			must(t, err)
			k := newKernelTrace(t)
			for i, p := range probes {
				args, _ := p.FetchArgs(img.Machine)
				place := fmt.Sprintf("%s:%#x", path, p.Location)
				if p.Sem {
					place += fmt.Sprintf("(%#x)", p.Semaphore)
				}
				k.define(t, fmt.Sprint(p.Name, "_", i), place, args)
			}
			k.enable(t)
			if out := runProgram(t, path); out != "1\n" {
				t.Errorf("the semaphore was not up while the probe was set: the program says %q", out)
			}
			got := k.hits(t)
			want := []string{
				"registers arg1=-5 arg2=TEXT arg3=1099511627776 arg4=-5",
				"immediates arg1=-1 arg2=77 arg3=2147483647",
				"memory arg1=-10",
				"none",
				"guarded arg1=42",
				"twice arg1=7",
				"twice arg1=8",
			}
			if img.Machine == elf.EM_X86_64 {
				want = append(want[:4:4], append([]string{
					"globals arg1=1234567 arg2=-2",
					"high arg1=65",
					"indexed arg2=ADDRESS",
					"float arg3=4",
				}, want[4:]...)...)
			}
			compareHits(t, got, want)
		})
	}
}

// number and address hide what differs from run to run.
var (
	eventNumber = regexp.MustCompile(`^([a-z]+)_\d+`)
	textAddress = regexp.MustCompile(`^(registers .*arg2=)\d+`)
	lowAddress  = regexp.MustCompile(`^(indexed arg2=)-?\d+`)
)

func compareHits(t *testing.T, got, want []string) {
	t.Helper()
	for i, hit := range got {
		hit = eventNumber.ReplaceAllString(hit, "$1")
		hit = textAddress.ReplaceAllString(hit, "${1}TEXT")
		got[i] = lowAddress.ReplaceAllString(hit, "${1}ADDRESS")
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("traced\n%s\nwant\n%s", g, w)
	}
}

// runProgram runs a program of the tests and returns what it says at the end.
func runProgram(t *testing.T, path string) string {
	t.Helper()
	c := exec.Command(path)
	c.Stdin = strings.NewReader("\n")
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	last, err := r.ReadString('\n')
	must(t, err)
	must(t, c.Wait())
	return last
}
