package session

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// TestFiltered is the program that the tests of filters trace: at a line of its standard input it
// makes system calls, takes names and sends itself signals, in filteredRounds rounds.
func TestFiltered(t *testing.T) {
	if os.Getenv("SESSION_FILTERED") == "" {
		t.Skip("this is a program of the live tests")
	}
	signal.Ignore(unix.SIGUSR1, unix.SIGWINCH, unix.SIGCONT)
	bufio.NewScanner(os.Stdin).Scan()
	runtime.LockOSThread()
	for i := range filteredRounds {
		for _, pid := range filteredPIDs() {
			_, _, _ = unix.RawSyscall(unix.SYS_GETPGID, uintptr(pid), 0, 0)
		}
		adjust := fmt.Sprint(i*37%1000 + 1)
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte(adjust), 0)
		for _, name := range filteredNames() {
			text := append([]byte(name), 0)
			_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text[0])), 0, 0, 0)
		}
		for _, number := range []unix.Signal{unix.SIGUSR1, unix.SIGWINCH, unix.SIGCONT} {
			_ = unix.Kill(os.Getpid(), number)
			_ = unix.Tgkill(os.Getpid(), unix.Gettid(), number)
		}
	}
	_, _, _ = unix.RawSyscall(unix.SYS_GETSID, filteredEnd, 0, 0)
}

const filteredRounds = 20

// filteredEnd is what the last system call is about.
const filteredEnd = 90001001

func filteredPIDs() []uint64 {
	return []uint64{0, 1, 2, 7, 127, 128, 255, 256, 90001000, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 2, 1<<64 - 1, 1<<64 - 128}
}

func filteredNames() []string {
	return []string{"a", "ab", "name", "fifteen letters", "it's", "with blanks in", "x"}
}

// filteredPoint is a tracepoint with fields to compare.
type filteredPoint struct {
	name           string
	numbers, texts []string
	// target is the field that must be the load's own pid. An interrupt sends signals to others, and
	// may do so after the kernel has given the load's thread a name and before its record says so.
	target string
}

func filteredPoints() []filteredPoint {
	return []filteredPoint{
		{"t:syscalls:sys_enter_getpgid", []string{"args.pid", "args.pid", "args.__syscall_nr"}, nil, ""},
		{"t:syscalls:sys_exit_getpgid", []string{"args.ret", "args.__syscall_nr"}, nil, ""},
		{"t:task:task_rename", []string{"args.pid", "args.oom_score_adj"}, []string{"args.oldcomm", "args.newcomm"}, ""},
		{"t:signal:signal_generate", []string{"args.sig", "args.errno", "args.code", "args.group", "args.result"}, []string{"args.comm"}, "args.pid"},
	}
}

// predicates writes random predicates.
type predicates struct {
	*rand.Rand
	filteredPoint
}

func (p predicates) pick(list ...string) string { return list[p.IntN(len(list))] }

func (p predicates) truth(depth int) string {
	switch n := p.IntN(12); {
	case depth > 0 && n < 6:
		return fmt.Sprintf("(%s %s %s)", p.truth(depth-1), p.pick("&&", "||"), p.truth(depth-1))
	case depth > 0 && n == 6:
		return "!" + p.truth(depth-1)
	case n == 7:
		return p.pick("(nsecs > 5)", "(rand == 1 << 40)", "(@on[tid] == 0)", "(args.pid + 1 > 3 || true)")
	case n >= 10:
		texts := append([]string{"comm"}, p.texts...)
		with := p.pick(append(filteredNames(), "other", "sixteen letters!", "a name of twenty chars")...)
		return fmt.Sprintf("(%s %s %q)", p.pick(texts...), p.pick("==", "!="), with)
	case n == 9:
		return "(" + p.number() + ")"
	}
	return fmt.Sprintf("(%s %s %s)", p.number(), p.pick("==", "!=", "<", "<=", ">", ">="), p.constant())
}

func (p predicates) number() string {
	x := p.pick(append([]string{"tid", "cpu"}, append(p.numbers, p.numbers...)...)...)
	if p.IntN(3) == 0 {
		x = fmt.Sprintf("(%s)%s", p.pick("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"), x)
	}
	if p.IntN(4) == 0 {
		x = fmt.Sprintf("(%s & %d)", x, p.Uint64()>>p.IntN(64))
	}
	return x
}

func (p predicates) constant() string {
	pids := filteredPIDs()
	switch p.IntN(5) {
	case 0:
		return fmt.Sprint(p.IntN(1000))
	case 1:
		return fmt.Sprint(-p.IntN(130))
	case 2:
		return fmt.Sprint(p.IntN(20))
	case 3:
		return fmt.Sprint(int64(pids[p.IntN(len(pids))]))
	}
	return fmt.Sprint(pids[p.IntN(len(pids))])
}

// prepared is a program that is ready to be attached. It is nil if the program is wrong.
func prepared(t *testing.T, text string, o Options) *session {
	t.Helper()
	o.Text = text
	s := &session{opts: o, self: uint32(os.Getpid()), names: newNames(), ahead: map[string]int64{}}
	if s.prepare() != nil {
		return nil
	}
	return s
}

// Each predicate runs twice in one program: in a clause that has a filtered event of its own, and in
// one that shares an event which has no filter. Both must see the same hits.
func TestLiveTheKernelFiltersAsPredicatesSay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	each := testlimit.Calls(80)
	const seed = 20
	load := exec.Command("/proc/self/exe", "-test.run=^TestFiltered$")
	load.Env = append(os.Environ(), "SESSION_FILTERED=1")
	start, err := load.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = load.Process.Kill() }()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	out := &awaited{text: "ready\n", then: func() {
		go func() {
			start.Write([]byte("\n"))
			_ = load.Wait()
		}()
	}}
	var stderr bytes.Buffer
	options := Options{Params: []string{fmt.Sprint(load.Process.Pid)}, Quiet: true, NoWarnings: true, Verbose: true, Stdout: out, Stderr: &stderr}

	// The first ones have counts that the load knows.
	heads := []string{"t:syscalls:sys_enter_getpgid / pid == $1 && args.pid == 90001000 /", `t:task:task_rename / pid == $1 && args.newcomm == "it's" /`}
	random := rand.New(rand.NewPCG(seed, 1))
	for _, point := range filteredPoints() {
		for n := 0; n < each; {
			truth := predicates{random, point}.truth(3)
			head := fmt.Sprintf("%s / pid == $1 && %s /", point.name, truth)
			if s := prepared(t, head+"{ @on[tid] = 0; }", options); s != nil && s.events[0].Filter != nil {
				if point.target != "" {
					head = fmt.Sprintf("%s / pid == $1 && %s == $1 && (%s) /", point.name, point.target, truth)
				}
				heads = append(heads, head)
				n++
			}
		}
	}
	var text strings.Builder
	text.WriteString("BEGIN { printf(\"ready\\n\"); @on[0] = 0; }\n")
	var filters []*plan.Condition
	for _, name := range []string{"@filtered", "@all"} {
		for i, head := range heads {
			clause := fmt.Sprintf("%s { %s[%d] = count(); }\n", head, name, i)
			text.WriteString(clause)
			filters = append(filters, prepared(t, clause+"BEGIN { @on[0] = 0; }", options).events[0].Filter)
		}
	}
	// Of hits that wait when a run is canceled, some may be left out on a busy host.
	fmt.Fprintf(&text, "t:syscalls:sys_enter_getsid / pid == $1 && args.pid == %d / { exit(); }\n", filteredEnd)
	s := prepared(t, text.String(), options)
	var events []*plan.Event
	for _, e := range s.events {
		all := *e
		all.Uses, all.Filter = nil, nil
		for _, u := range e.Uses {
			if u.Clause > len(heads) {
				all.Uses = append(all.Uses, u)
				continue
			}
			own := *e
			own.Uses, own.Filter = []plan.Use{u}, filters[u.Clause-1]
			events = append(events, &own)
		}
		events = append(events, &all)
	}
	s.events = events
	if _, err := s.run(ctx); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	books := stderr.String()
	summary := regexp.MustCompile(`hits received, .* 0 lost, .*, (\d+) filtered by the kernel\n`).FindStringSubmatch(books)
	if summary == nil {
		t.Fatalf("hits are lost\n%s", books)
	}
	if n, _ := strconv.Atoi(summary[1]); n < each*filteredRounds {
		t.Errorf("%d hits are filtered", n)
	}
	t.Log(len(heads), "predicates,", strings.TrimSpace(summary[0]), strings.Count(books, "not filtered by the kernel"), "not whole")
	counts := map[string][]int{"filtered": make([]int, len(heads)), "all": make([]int, len(heads))}
	for _, m := range regexp.MustCompile(`@(\w+)\[(\d+)\]: (\d+)\n`).FindAllStringSubmatch(out.String(), -1) {
		i, _ := strconv.Atoi(m[2])
		if of := counts[m[1]]; of != nil {
			of[i], _ = strconv.Atoi(m[3])
		}
	}
	some := 0
	for i, head := range heads {
		if counts["filtered"][i] != counts["all"][i] {
			t.Errorf("%s\n%d hits, filtered by\n%s\n%d", head, counts["all"][i], filters[i], counts["filtered"][i])
		}
		if counts["all"][i] > 0 {
			some++
		}
	}
	for i := range 2 {
		if counts["filtered"][i] != filteredRounds {
			t.Errorf("%s: %d hits, not %d", heads[i], counts["filtered"][i], filteredRounds)
		}
	}
	if some < len(heads)/4 {
		t.Errorf("only %d predicates have hits", some)
	}
}
