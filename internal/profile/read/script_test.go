package read

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The texts in testdata are perf 6.1's. What is wanted of those with call chains is what
// stackcollapse-perf.pl makes of them, but for the names of processes, of which it replaces blanks,
// of unknown functions, and the marks of inlined ones, which it has not.
func TestTextsOfPerfScript(t *testing.T) {
	const (
		start     = "spin 1 x;_start;__libc_start_main_impl_[i];__libc_start_call_main;main;middle;leaf;inner_[i]"
		preempted = ";asm_sysvec_apic_timer_interrupt_[k];irqentry_exit_to_user_mode_[k];schedule_[k] "
		swap      = "entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];"
	)
	switches := "compile;runtime.goexit.abi0;runtime.main;main.main;cmd/compile/internal/gc.Main;" +
		"cmd/compile/internal/inline/interleaved.DevirtualizeAndInlinePackage;cmd/compile/internal/ir.VisitFuncsBottomUp;" +
		"cmd/compile/internal/ir.(*bottomUpVisitor).visit;cmd/compile/internal/inline/interleaved.DevirtualizeAndInlinePackage.func2;" +
		"cmd/compile/internal/ir.WithFunc;cmd/compile/internal/inline/interleaved.DevirtualizeAndInlinePackage.func2.1;" +
		"cmd/compile/internal/inline.TryInlineCall;cmd/compile/internal/inline.mkinlcall;cmd/compile/internal/inline.canInlineCallExpr;" +
		"cmd/compile/internal/ir.(*Name).Linksym;cmd/compile/internal/types.(*Sym).LinksymABI;cmd/compile/internal/base.linksym;" +
		"runtime.mapaccess1_faststr;asm_sysvec_apic_timer_interrupt_[k];irqentry_exit_to_user_mode_[k];schedule_[k];__schedule_[k] 1\n" +
		"exe;runtime.mstart.abi0;runtime.mstart0;runtime.mstart1;runtime.sysmon;runtime.usleep.abi0;" + swap +
		"__x64_sys_nanosleep_[k];hrtimer_nanosleep_[k];do_nanosleep_[k];schedule_[k];__schedule_[k] 1\n" +
		"migration/0;ret_from_fork_asm_[k];ret_from_fork_[k];kthread_[k];smpboot_thread_fn_[k];schedule_[k];__schedule_[k] 1\n" +
		"perf;__libc_start_call_main" + strings.Repeat(";[unknown] (perf)", 6) + ";sched_setaffinity@@GLIBC_2.3.4;" + swap +
		"__x64_sys_sched_setaffinity_[k];sched_setaffinity_[k];__sched_setaffinity_[k];__set_cpus_allowed_ptr_[k];" +
		"affine_move_task_[k];wait_for_completion_[k];schedule_timeout_[k];schedule_[k];__schedule_[k] 1\n"
	for _, tt := range []struct{ file, event, want string }{
		{"default.txt", "context-switches", start + preempted + "6\n"},
		{"default.txt", "cpu-clock", start + " 15075375\n"},
		{"fields.txt", "sched:sched_switch", switches},
		{"tracepoint.txt", "sched:sched_switch", switches},
		{"nochain.txt", "cpu-clock", "spin 1 x;leaf 5005005\n"},
		{"nochain_tracepoint.txt", "sched:sched_switch", "migration/0 1\nperf 2\nsleep 1\n"},
		// With source lines, perf does not say what is inlined.
		{"srcline.txt", "context-switches", strings.ReplaceAll(start, "_[i]", "") + preempted + "1\n"},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", tt.file))
		if err != nil {
			t.Fatal(err)
		}
		p := read(t, text)
		if diff := cmp.Diff(tt.want, foldedText(t, p, tt.event)); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", tt.file, tt.event, diff)
		}
	}
}

func TestTheHeaderOfPerfScriptIsRead(t *testing.T) {
	text, err := os.ReadFile("testdata/default.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := read(t, text)
	if want := "/usr/bin/perf record -q -e cpu-clock,context-switches -F 199 --call-graph dwarf -o d2.data ./spin 1 x 30000"; p.Host != "vm" || p.Command != want {
		t.Errorf("%q on %q", p.Command, p.Host)
	}
	if p.Event != "context-switches" || len(p.Accounts) != 2 || p.Accounts[0].Received != 4 || p.Accounts[1].Received != 3 {
		t.Errorf("event %s, accounts %+v", p.Event, p.Accounts)
	}
	if a, b := p.Metrics[0], p.Metrics[1]; a.Unit != "counts" || !a.Running || b.Unit != "nanoseconds" || !b.Running {
		t.Errorf("metrics %+v", p.Metrics)
	}
}

func TestHeadsOfSamples(t *testing.T) {
	for _, tt := range []struct {
		in, comm, event string
		pid             int
		weight          uint64
	}{
		{"java 25607 4794564.109216: cycles: ", "java", "cycles", 25607, 1},
		{"java 12688 [002] 6544038.708352: 235 cpu-clock: ", "java", "cpu-clock", 12688, 235},
		{"V8 WorkerThread 24636/25607 [000] 94564.109216: 100 cycles:", "V8 WorkerThread", "cycles", 24636, 100},
		{"thread 3 30478  1151.230820:    1001001    cpu-clock:pppH: ", "thread 3", "cpu-clock:pppH", 30478, 1001001},
		{"   thread 3 [x] 30478/1  1151.230820: cycles/name=a:b/u:", "thread 3 [x]", "cycles/name=a:b/u", 30478, 1},
		{"swapper     0 [000] 1.000000: 0 cycles:", "swapper", "cycles", 0, 1},
		{":-1    -1 [000] 1.000000123: r1a8: ", ":-1", "r1a8", -1, 1},
		{"sh 5 [001] d..2. 1.000000: irq:softirq_entry: vec=1 [action=TIMER] 7", "sh", "irq:softirq_entry", 5, 1},
		{"sh 5 [001] U  1.000000: cycles:", "sh", "cycles", 5, 1},
		{"spin 1 x 30478                cpu-clock: ", "spin 1 x", "cpu-clock", 30478, 1},
		{"spin 30478/30479  7  cpu-clock: ", "spin", "cpu-clock", 30478, 7},
		{"sh 5 1.000000:", "sh", "", 5, 1},
		{"5/6 1.000000: cycles:", "", "cycles", 5, 1},
		{"sh 5 1.000000:    55b769fcd18f leaf+0xf (/a b)", "sh", "", 5, 1},
	} {
		h, ok := parseHead([]byte(tt.in))
		if !ok || string(h.comm) != tt.comm || string(h.event) != tt.event || h.pid != tt.pid || h.weight != tt.weight {
			t.Errorf("%q: %t, %q %d, event %q, weight %d", tt.in, ok, h.comm, h.pid, h.event, h.weight)
		}
	}
	for _, text := range []string{
		"a;b 3", "main;std::sort 1;x: y 5", "\t   118f leaf+0xf (/tmp/spin 1 x)", "  main.c:12", "python 3;f 1 g: 5", "hello world",
		"a 99999999999999999999 1.000000: cycles:",
	} {
		if h, ok := parseHead([]byte(text)); ok {
			t.Errorf("%q is the head of a sample: %+v", text, h)
		}
	}
}

func TestCallsOfAChain(t *testing.T) {
	for _, tt := range []struct {
		in, name, file string
		offset         uint64
		inlined        bool
	}{
		{"\tffffffff821fb643 schedule+0x23 ([kernel.kallsyms])", "schedule", "[kernel.kallsyms]", 0x23, false},
		{"\t            118f [unknown] (/tmp/spin 1 x)", "", "/tmp/spin 1 x", 0, false},
		{"\t            118f leaf+0xf (/tmp/a (deleted))", "leaf", "/tmp/a (deleted)", 0xf, false},
		{"\t            118f f(int, char (*)()) const+0xf (/tmp/a)b)", "f(int, char (*)()) const", "/tmp/a)b", 0xf, false},
		{"\t            118f leaf", "leaf", "", 0, false},
		{"\t            118f f(int)", "f(int)", "", 0, false},
		{"\t            118f (/tmp/a)", "", "/tmp/a", 0, false},
		{"\t            118f", "", "", 0, false},
		{"\t            118f [unknown] ([unknown])", "", "", 0, false},
		{"        118f std::sort(int*) (inlined)", "std::sort(int*)", "", 0, true},
		{"        118f operator+0x1 (inlined)\r", "operator", "", 1, true},
		{"        118f a+0xzz (b)", "a+0xzz", "b", 0, false},
	} {
		c, ok := parseCall([]byte(tt.in))
		if !ok || string(c.name) != tt.name || string(c.file) != tt.file || c.offset != tt.offset || c.inlined != tt.inlined {
			t.Errorf("%q: %t, %q in %q, offset %#x, inlined %t", tt.in, ok, c.name, c.file, c.offset, c.inlined)
		}
	}
	for _, text := range []string{"  main.c:12", "\t", "  libc.so.6[27b25]", "\t11112222333344445 f (a)"} {
		if c, ok := parseCall([]byte(text)); ok {
			t.Errorf("%q is a call: %+v", text, c)
		}
	}
}

func TestSamplesOfPerfScript(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"the last sample needs no blank line", "a 1 1.000: e:\n\t1 f (x)", "a;f 1\n"},
		{"samples without a chain", "a 1 1.000: e: \n\na 1 1.000: e: \n", "a 2\n"},
		{"chains indented with blanks, or not at all", "a 1 1.000: 5 e:\n   1 f (x)\n1 g (x)\n", "a;g;f 5\n"},
		{"records that are no samples", "a 1 1.000: PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0 fe:00 1 2]: r-xp /a\na 1 1.000: e:\n\t1 f (x)\n", "a;f 1\n"},
		{"a module, and the kernel without a name", "a 1 1.000: e:\n\tffffffffc0000001 [unknown] ([unknown])\n\tffffffffc0000001 g ([nf])\n\t1 f ([vdso])\n",
			"a;f;g_[k];[unknown] ([kernel])_[k] 1\n"},
		{"inlined functions, innermost first", "a 1 1.000: e:\n\t1 h (inlined)\n\t1 g (inlined)\n\t1 f (x)\n", "a;f;g_[i];h_[i] 1\n"},
		{"inlined functions without another", "a 1 1.000: e:\n\t1 h (inlined)\n\t1 g (inlined)\n\na 1 1.000: e:\n\t1 f (x)\n", "a;f 1\na;g;h 1\n"},
		{"a function at two addresses", "a 1 1.000: e:\n\t1 f (x)\n\na 1 1.000: e:\n\t2 f (x)\n", "a;f 2\n"},
		{"a process with two names", "a 1 1.000: e:\n\t1 f (x)\n\nb 1 1.000: e:\n\t2 f (x)\n", "a;f 1\nb;f 1\n"},
		{"no events", "a 1 1.000: \n\t1 f (x)\n\n", "a;f 1\n"},
		{"no times", "a 1 e: \n\t1 f (x)\n\n", "a;f 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := foldedText(t, read(t, []byte(tt.in)), ""); got != tt.want {
				t.Errorf("%q is read as %q, want %q", tt.in, got, tt.want)
			}
		})
	}
	if _, err := Profile("p", strings.NewReader("a 1 1.000: PERF_RECORD_EXIT(1:1):(1:1)\n")); err == nil || !strings.Contains(err.Error(), "no samples") {
		t.Errorf("no samples: %v", err)
	}
}

func TestSamplesOfTooManyEventsAreCountedInANote(t *testing.T) {
	var b strings.Builder
	for i := range 2 * (maxEvents + 5) {
		fmt.Fprintf(&b, "a 1 1.000: e%d:\n\t1 f (x)\n\n", i/2)
	}
	p := read(t, []byte(b.String()))
	if len(p.Metrics) != maxEvents || len(p.Notes) != 1 || !strings.HasPrefix(p.Notes[0], "10 samples ") {
		t.Errorf("%d metrics, notes %q", len(p.Metrics), p.Notes)
	}
	if len(p.Rows) != 1 || p.Rows[0].Values[maxEvents-1] != 2 {
		t.Errorf("rows %+v", p.Rows)
	}
}
