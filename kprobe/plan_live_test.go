package kprobe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// withKprobes returns the tracefs of a kernel that has kprobe_events.
func withKprobes(t *testing.T) *ftrace.FS {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs is readable by root only")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	if !tracefs.Has("kprobe_events") {
		t.Skip("kprobe_events: the kernel is built without CONFIG_KPROBE_EVENTS")
	}
	return tracefs
}

// liveGroup makes a group that is gone when the test ends.
func liveGroup(t *testing.T, tracefs *ftrace.FS) *ftrace.Group {
	t.Helper()
	group, err := tracefs.NewGroup("kprobe_events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	})
	return group
}

// dynamic is a site as the kernel is told about it.
func dynamic(s *Site) ftrace.Dynamic {
	d := ftrace.Dynamic{Type: 'p', Event: s.Event, Place: s.Place()}
	if s.Return {
		d.Type = 'r'
	}
	var words []string
	for _, a := range s.Args {
		words = append(words, a.String())
	}
	d.Args = strings.Join(words, " ")
	return d
}

// definePlan resolves a definition and defines its sites.
func definePlan(t *testing.T, group *ftrace.Group, text string) *Plan {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Sites {
		if _, err := group.Define(dynamic(&p.Sites[i])); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return p
}

// instance is a trace instance by hand: events of dynamic groups are in each.
func instance(t *testing.T, tracefs *ftrace.FS) (dir string) {
	t.Helper()
	dir = filepath.Join(tracefs.Dir(), "instances", fmt.Sprintf("kprobe_test_%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

// record is what the kernel traces of the group's events in this thread while
// do runs, a line for each hit, without what stands before the event.
func record(t *testing.T, tracefs *ftrace.FS, group *ftrace.Group, do func()) []string {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dir := instance(t, tracefs)
	events := filepath.Join(dir, "events", group.Name())
	write(t, filepath.Join(dir, "set_event_pid"), fmt.Sprint(unix.Gettid()))
	write(t, filepath.Join(events, "enable"), "1")
	do()
	write(t, filepath.Join(events, "enable"), "0")
	text, err := os.ReadFile(filepath.Join(dir, "trace"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, rest, ok := strings.Cut(line, ": "); ok {
			lines = append(lines, strings.TrimSpace(rest))
		}
	}
	return lines
}

func TestLivePerfToolsExamplesAreTakenByTheKernel(t *testing.T) {
	tracefs := withKprobes(t)
	for i, test := range perfTools {
		if !testlimit.Case(i, 2) {
			continue
		}
		t.Run(test.text, func(t *testing.T) {
			text := test.text
			d, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Resolve(d, Options{})
			var gone *SymbolError
			if errors.As(err, &gone) && len(gone.Today) > 0 {
				t.Logf("%v", err)
				text = strings.Replace(text, d.Symbol, gone.Today[0], 1)
				d, _ = Parse(text)
				p, err = Resolve(d, Options{})
			}
			if err != nil {
				t.Fatal(err)
			}
			group := liveGroup(t, tracefs)
			site := &p.Sites[0]
			if _, err := group.Define(dynamic(site)); err != nil {
				t.Fatal(err)
			}
			list, err := os.ReadFile(filepath.Join(tracefs.Dir(), "kprobe_events"))
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("%c:%s/%s %s", d.Kind, group.Name(), p.Name(), d.Symbol)
			if !slices.ContainsFunc(strings.Split(string(list), "\n"), func(line string) bool {
				head, tail, _ := strings.Cut(line, ":")
				return strings.HasPrefix(head, string(rune(d.Kind))) && (tail == want[2:] || strings.HasPrefix(tail, want[2:]+" ") || strings.HasPrefix(tail, want[2:]+"+0"))
			}) {
				t.Errorf("kprobe_events has %q; want %q", list, want)
			}
		})
	}
}

func TestLiveArgumentsAreWhatTheCallerPassed(t *testing.T) {
	first, second := "%di", "%si"
	if runtime.GOARCH == "arm64" {
		first, second = "%x0", "%x1"
	}
	tracefs := withKprobes(t)
	group := liveGroup(t, tracefs)
	definePlan(t, group, "p:myopen do_sys_openat2 dfd="+first+":s32 filename=+0("+second+"):string user=+0("+second+"):ustring how=+0($arg3):u64 $comm")
	definePlan(t, group, "r:myret do_sys_openat2 $retval rval=$retval:s32")
	definePlan(t, group, "p:vfs_open code=@vfs_open:x32 a=$arg1 b="+first)
	path := filepath.Join(t.TempDir(), "a file of my own")
	missing := path + ".missing"
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := record(t, tracefs, group, func() {
		fd, err := unix.Openat(unix.AT_FDCWD, path, unix.O_RDONLY, 0)
		if err != nil {
			t.Error(err)
		}
		unix.Close(fd)
		unix.Openat(unix.AT_FDCWD, missing, unix.O_RDONLY, 0)
	})
	// Linux 6.12 knows the type of what a function returns.
	text := strings.ReplaceAll(strings.Join(lines, "\n"), "arg1=-2 ", fmt.Sprintf("arg1=%#x ", ^uint64(1)))
	for _, want := range []string{
		fmt.Sprintf(`dfd=-100 filename=%q user=%[1]q how=`, path),
		fmt.Sprintf(`filename=%q`, missing),
		fmt.Sprintf("arg1=%#x rval=-2", ^uint64(1)),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "vfs_open:") {
			_, a, _ := strings.Cut(line, " a=")
			if x, y, ok := strings.Cut(a, " b="); !ok || x != y || !strings.HasPrefix(x, "0x") {
				t.Errorf("$arg1 and %s differ: %s", first, line)
			}
		}
	}
}

func TestLiveFunctionsOfOneNameAreToldApart(t *testing.T) {
	tracefs := withKprobes(t)
	names := []string{"t_next", "s_next"}
	count := map[string]int{}
	if _, err := (kernel{}).traceable(func(name []byte) bool {
		if count[string(name)]++; count[string(name)] == 3 && len(names) < 3 {
			names = append(names, string(name))
		}
		return false
	}); err != nil {
		t.Fatal(err)
	}
	group := liveGroup(t, tracefs)
	for _, name := range names {
		functions, err := Functions(name, Options{})
		if err != nil {
			t.Logf("%v", err)
			continue
		}
		p, err := Resolve(&Definition{Text: "p:" + name, Kind: Entry, Symbol: name}, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		probed := map[uint64]bool{}
		for i := range p.Sites {
			probed[p.Sites[i].Address] = true
		}
		for i, f := range functions {
			_, err := group.Define(ftrace.Dynamic{Type: 'p', Event: fmt.Sprintf("%s_%d", name, i), Place: fmt.Sprintf("%#x", f.Address)})
			if probed[f.Address] != (err == nil) {
				t.Errorf("%s at %#x is a site: %v; the kernel: %v", name, f.Address, probed[f.Address], err)
			}
		}
		t.Logf("%s: %d of %d functions", name, len(p.Sites), len(functions))
	}
	if hits, err := group.Hits(); err != nil || len(hits) == 0 {
		t.Errorf("hits of %d places, %v", len(hits), err)
	}
}

func TestLivePlacesWithinFunctionsAreCheckedAsTheKernelDoes(t *testing.T) {
	tracefs := withKprobes(t)
	for offset := range 8 {
		if !testlimit.Case(offset, 2) {
			continue
		}
		text := fmt.Sprintf("p:vfs_read+%d", offset)
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Resolve(d, Options{})
		group := liveGroup(t, tracefs)
		_, kernel := group.Define(ftrace.Dynamic{Type: 'p', Event: "e", Place: fmt.Sprintf("vfs_read+%d", offset)})
		t.Logf("%s: %v; the kernel: %v", text, err, kernel)
		if err != nil && kernel == nil {
			t.Errorf("%s: the kernel takes it, ringtap does not: %v", text, err)
		}
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLiveWhatIsRefusedTheKernelRefuses tries functions from all over the kernel.
func TestLiveWhatIsRefusedTheKernelRefuses(t *testing.T) {
	tracefs := withKprobes(t)
	const tries = 100
	o := Options{}
	l := &lookup{symbol: "*", pattern: true, logger: o.logger()}
	if err := l.read(); err != nil {
		t.Fatal(err)
	}
	r := &resolver{definition: &Definition{Kind: Entry}, lookup: l, plan: &Plan{}, arch: runtime.GOARCH}
	var err error
	if r.refused, err = l.kernel.blacklist(); err != nil {
		t.Fatal(err)
	}
	functions := l.functions()
	names := []string{"__schedule", "do_int3", "get_kprobe", "exc_page_fault", "asm_exc_page_fault", "start_kernel", "kprobe_exceptions_notify", "arm64_enter_el1_dbg", "do_debug_exception", "finish_task_switch.isra.0"}
	taken, refused := 0, 0
	group := liveGroup(t, tracefs)
	for i := range functions {
		f := &functions[i]
		if i%(len(functions)/tries+1) != 0 && !slices.Contains(names, f.Name) || f.Address == 0 {
			continue
		}
		ours := r.probeable(f)
		_, theirs := group.Define(ftrace.Dynamic{Type: 'p', Event: fmt.Sprintf("e%d", i), Place: fmt.Sprintf("%#x", f.Address)})
		switch {
		case ours == nil && theirs == nil:
			taken++
		case ours != nil && theirs != nil:
			refused++
			t.Logf("%v", ours)
		default:
			t.Errorf("%s: ringtap says %v, the kernel %v", f, ours, theirs)
		}
	}
	t.Logf("%d taken, %d refused", taken, refused)
	if taken == 0 || refused == 0 {
		t.Errorf("%d functions taken, %d refused: nothing is compared", taken, refused)
	}
}
