package annotate

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"golang.org/x/sys/unix"
)

// hits returns hits at offsets in a function: i+1 samples at the offset i.
func (p *program) hits(at string, offsets ...uint64) (all []hit) {
	for i, offset := range offsets {
		all = append(all, hit{address: p.functions[at].Value + offset, period: 1000, samples: i + 1})
	}
	return all
}

func TestASampleCountsAtItsInstruction(t *testing.T) {
	p := compile(t, "gcc")
	first, err := run(t, p.record(t, "x86_64", p.hits("compute", 0)...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var hits []hit
	other := hit{address: p.functions["idle"].Value, period: 7, samples: 3}
	start := p.functions["compute"].Value
	samples, periods := 0, uint64(0)
	for i := range first.Code { // i samples at the instruction i, with periods that are not all the same
		n, period := i%4, uint64(100+i)
		hits = append(hits, hit{address: first.Code[i].Address, period: period, samples: n})
		samples, periods = samples+n, periods+uint64(n)*period
	}
	hits = append(hits, other, hit{address: 0xffffffff81000010, period: 1, samples: 2, mode: unix.PERF_RECORD_MISC_KERNEL})
	l, err := run(t, p.record(t, "x86_64", hits...), Options{Function: "compute"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Code[0].Address != start || len(l.Code) != len(first.Code) || len(l.Code) < 15 {
		t.Errorf("%d instructions from %#x, want those of compute at %#x", len(l.Code), l.Code[0].Address, start)
	}
	for i := range l.Code {
		n, period := uint64(i%4), uint64(100+i)
		if got := l.Code[i].Count; got != (Count{n, n * period}) {
			t.Errorf("instruction %d: %v, want %d samples of the period %d", i, got, n, period)
		}
	}
	if want := (Count{uint64(samples), periods}); l.Samples != want {
		t.Errorf("the function has %v, want %v", l.Samples, want)
	}
	if want := (Count{uint64(samples) + 5, periods + 23}); l.All != want {
		t.Errorf("the event has %v, want %v", l.All, want)
	}
	lines := Count{}
	for i := range l.Lines {
		lines.add(l.Lines[i].Count)
	}
	if lines != l.Samples {
		t.Errorf("the source lines have %v, want %v", lines, l.Samples)
	}
}

func TestInstructionsHaveTheirSourceLines(t *testing.T) {
	p := compile(t, "gcc")
	l, err := run(t, p.record(t, "x86_64", p.hits("compute", 0)...), Options{Symfs: ""})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(p.source)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	inlined := 0
	for i := range l.Code {
		s := l.Code[i].Source
		if s == nil || s.File != p.source || s.Text != strings.TrimSpace(lines[s.Line-1]) {
			t.Fatalf("%#x: %+v", l.Code[i].Address, s)
		}
		if isMix := s.Line < 10; isMix != (len(s.Inlined) > 0) {
			t.Errorf("line %d is inlined from %v", s.Line, s.Inlined)
		} else if isMix {
			inlined++
			if s.Inlined[0] != "mix" || !strings.Contains(lines[s.Call.Line-1], "mix(x)") {
				t.Errorf("line %d is of %v, called at line %d", s.Line, s.Inlined, s.Call.Line)
			}
		}
		if l.Code[i].Jumps && l.index(l.Code[i].Target) >= 0 && !l.Code[l.index(l.Code[i].Target)].JumpedTo {
			t.Errorf("%#x: its target is not marked", l.Code[i].Address)
		}
	}
	if inlined == 0 {
		t.Error("no instruction is of an inlined function")
	}
}

func TestASourceFileThatChangedLaterIsNotShown(t *testing.T) {
	p := compile(t, "gcc")
	path := p.record(t, "x86_64", p.hits("compute", 0)...)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(p.source, later, later); err != nil {
		t.Fatal(err)
	}
	l, err := run(t, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := l.Code[0].Source; s.Line == 0 || s.Text != "" || len(l.Changed) != 1 || l.Changed[0] != p.source {
		t.Errorf("%+v; changed: %q", s, l.Changed)
	}
}

func TestFunctionsAreFoundByTheirNames(t *testing.T) {
	p := compile(t, "gcc")
	hits := append(p.hits("compute", 0, 0), p.hits("unrolled", 0)...)
	hits = append(hits,
		hit{address: 0xffffffff81000010, period: 1000, samples: 9, mode: unix.PERF_RECORD_MISC_KERNEL},
		hit{address: 0xffffffff81000110, period: 1e9, samples: 1, mode: unix.PERF_RECORD_MISC_KERNEL, idle: true},
		hit{address: jitStart, period: 1000, samples: 9, jit: true},
		hit{event: 1, address: p.functions["unrolled"].Value, period: 1, samples: 4})
	path := p.record(t, "x86_64", hits...)
	for _, test := range []struct{ function, event, want, wantEvent string }{
		{"", "", "compute", "cpu-clock"},
		{"", "page-faults", "unrolled", "page-faults"},
		{"unrolled", "", "unrolled", "cpu-clock"},
		{"unrolled", "page-faults", "unrolled", "page-faults"},
		{"sums:unrolled", "", "unrolled", "cpu-clock"},
		{p.path + ":unrolled", "", "unrolled", "cpu-clock"},
		{"compute_alias", "", "compute", "cpu-clock"},
	} {
		l, err := run(t, path, Options{Function: test.function, Event: test.event})
		if err != nil {
			t.Errorf("%q: %v", test.function, err)
			continue
		}
		if l.Function != test.want || l.Event != test.wantEvent || l.Code[0].Address != p.functions[l.Function].Value {
			t.Errorf("%q of %q: %s of %s", test.function, test.event, l.Function, l.Event)
		}
	}
	for _, test := range []struct {
		function, event string
		want            string
	}{
		{"unroled", "", "did you mean unrolled?"},
		{"mix", "", "it was inlined into compute"},
		{"idle", "", "idle of " + p.path + " has no samples"},
		{"libc:unrolled", "", "no function"},
		{"nothing like it", "", "the hottest functions are "},
		{"compute", "page-faults", "compute of " + p.path + " has no samples"},
		{"compute", "cycles", "it has cpu-clock, page-faults"},
		{"vfs_read", "", errNoKernel.Error()},
		{"LJava;generated", "", errGenerated.Error()},
	} {
		_, err := run(t, path, Options{Function: test.function, Event: test.event})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q of %q: %v, want %s", test.function, test.event, err, test.want)
		}
	}
	l, err := run(t, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"LJava;generated", "vfs_read"}; !slices.Equal(l.Closed, want) { // the idle task is not hot
		t.Errorf("%q are hotter than compute, want %q", l.Closed, want)
	}
	if _, err := run(t, p.record(t, "x86_64"), Options{}); !errors.Is(err, ErrNoSamples) {
		t.Errorf("an empty recording: %v", err)
	}
}

func TestAFileThatIsNotTheRecordedOneIsNotRead(t *testing.T) {
	p := compile(t, "gcc")
	path := p.record(t, "x86_64", p.hits("compute", 0)...)
	other := compile(t, "gcc", "-DOTHER", "-O1")
	if err := os.Rename(other.path, p.path); err != nil {
		t.Fatal(err)
	}
	if l, err := run(t, path, Options{}); err == nil {
		t.Errorf("%s of another build was annotated", l.Function)
	}
}

// The text of a terminal fits it, and has the hottest instruction.
func TestTheTextFitsTheTerminal(t *testing.T) {
	p := compile(t, "gcc")
	l, err := run(t, p.record(t, "x86_64", p.hits("unrolled", 0, 4)...), Options{Function: "unrolled"})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Code) <= wholeCode {
		t.Fatalf("the function has only %d instructions", len(l.Code))
	}
	hottest := len(l.Code) / 2
	for i := range l.Code {
		l.Code[i].Count = Count{1, 10}
		l.Samples.add(l.Code[i].Count)
	}
	l.Code[hottest].Period = 1e6
	l.Lines[0].Text = "\x1b[2J \u202e" + l.Lines[0].Text
	want := l.Code[hottest].Text
	for height := 12; height < 80; height += 7 {
		for _, width := range []int{40, 80, 132} {
			text := written(t, l, TextOptions{Top: 10, Width: width, Height: height})
			if n := strings.Count(text, "\n"); n > height {
				t.Errorf("%d lines, %d fit", n, height)
			}
			for line := range strings.Lines(text) {
				if twwidth.Width(strings.TrimSuffix(line, "\n")) > width {
					t.Errorf("%d columns: %q", width, line)
				}
			}
			if width >= 80 && !strings.Contains(text, want) {
				t.Errorf("the hottest instruction %q is missing in %d lines", want, height)
			}
			if strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("escape sequences: %q", text)
			}
		}
	}
	if head, _, _ := strings.Cut(written(t, l, TextOptions{Width: 80}), "\n"); !strings.HasPrefix(head, "unrolled (sums): ") || !strings.HasSuffix(head, " samples") {
		t.Errorf("the head is cut: %q", head) // the program is in a directory with a long name
	}
	all := written(t, l, TextOptions{All: true, Top: 10, Height: 24})
	if !strings.Contains(all, `printf("%ld\n", sum);`) {
		t.Error("the text of a source line is not as it is in the file")
	}
	for i := range l.Code {
		if !strings.Contains(all, l.Code[i].Text) {
			t.Errorf("--all has no %q", l.Code[i].Text)
		}
	}
	if n := strings.Count(all, "\n"); n < len(l.Code) {
		t.Errorf("--all has %d lines of %d instructions", n, len(l.Code))
	}
	if color := written(t, l, TextOptions{Top: 10, Color: true}); !strings.Contains(color, "\x1b["+red+"m") {
		t.Error("no color")
	}
}

// What is left out of the text is counted in it.
func TestTheTextHasAllSamples(t *testing.T) {
	p := compile(t, "gcc")
	l, err := run(t, p.record(t, "x86_64", p.hits("unrolled", 0, 4)...), Options{Function: "unrolled"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Code {
		l.Code[i].Count = Count{uint64(i%7) + 1, uint64(i%7) + 1}
	}
	l.Samples = Count{}
	for i := range l.Code {
		l.Samples.add(l.Code[i].Count)
	}
	for _, height := range []int{0, 20, 30} {
		shown := text{Listing: l, opts: TextOptions{Height: height}}
		percent := 0.0
		for _, line := range shown.shown() {
			percent += firstNumber(line)
		}
		if percent < 99 || percent > 101 {
			t.Errorf("%d lines have %.2f%% of the samples", height, percent)
		}
	}
}
