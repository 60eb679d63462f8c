package output

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

func tablesText(t *testing.T, p *profile.Profile, opts TableOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteTables(&b, p, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// parseTables reads the piped form back: a list of records for each section.
func parseTables(t *testing.T, text string) map[string][][]string {
	t.Helper()
	sections := map[string][][]string{}
	section := ""
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch line {
		case "counts:", "traces:", "info:":
			section = strings.TrimSuffix(line, ":")
			continue
		}
		sections[section] = append(sections[section], strings.Split(line, "\t"))
	}
	return sections
}

func TestTablesOnAPipe(t *testing.T) {
	golden(t, "tables.txt", []byte(tablesText(t, sample(), TableOptions{})))
}

func TestTablesDrawn(t *testing.T) {
	golden(t, "tables_drawn.txt", []byte(tablesText(t, sample(), TableOptions{Drawn: true, Width: 80})))
}

func TestTablesShowInlinedFunctionsWhenAsked(t *testing.T) {
	traces := parseTables(t, tablesText(t, sample(), TableOptions{Inlines: true}))["traces"]
	for _, row := range traces {
		if row[0] == "5" && row[1] != "_start+0x25;main+0x15;square (inlined)" {
			t.Errorf("trace 5 is %q", row[1])
		}
	}
}

func TestTablesHoldTheTopRowsAndWhatTheyName(t *testing.T) {
	for _, top := range []int{0, 1, 3, 10, 400, 5000} {
		p := forest(7, 400)
		s := parseTables(t, tablesText(t, p, TableOptions{Top: top}))
		counts := s["counts"][1:]
		want := len(p.Rows)
		if top > 0 {
			want = min(top, want)
		}
		if len(counts) != want {
			t.Fatalf("top %d: %d rows, want %d", top, len(counts), want)
		}
		named, pids, last := map[string]bool{}, map[string]bool{}, 0
		shown := uint64(0)
		for _, row := range counts {
			v, err := strconv.Atoi(row[3])
			if err != nil || v < last {
				t.Fatalf("top %d: value %q after %d: rows must ascend", top, row[3], last)
			}
			last = v
			shown += uint64(v)
			pids[row[0]], named[row[1]], named[row[2]] = true, true, true
		}
		delete(named, "-1")
		if got := len(s["traces"]) - 1; got != len(named) {
			t.Errorf("top %d: %d traces for %d stack ids", top, got, len(named))
		}
		for _, row := range s["traces"][1:] {
			if !named[row[0]] {
				t.Errorf("top %d: trace of stack %s, which no row names", top, row[0])
			}
		}
		if got := len(s["info"]) - 1; got != len(pids) {
			t.Errorf("top %d: info of %d processes for %d pids", top, got, len(pids))
		}
		if top == 0 && shown != total(p, 0) {
			t.Errorf("all rows sum to %d, want %d", shown, total(p, 0))
		}
	}
}

func TestTablesWithOneKindOfStackMergeRowsAndKeepTheSum(t *testing.T) {
	for _, tt := range []struct {
		name   string
		opts   TableOptions
		hidden int // column that must hold -1
	}{
		{"user", TableOptions{User: true}, 2},
		{"kernel", TableOptions{Kernel: true}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := sample()
			seen, sum := map[string]bool{}, uint64(0)
			for _, row := range parseTables(t, tablesText(t, p, tt.opts))["counts"][1:] {
				if row[tt.hidden] != "-1" {
					t.Errorf("row %q shows the stack that was not asked for", row)
				}
				key := strings.Join(row[:3], " ")
				if seen[key] {
					t.Errorf("two rows of %s", key)
				}
				seen[key] = true
				v, _ := strconv.ParseUint(row[3], 10, 64)
				sum += v
			}
			if sum != total(p, 0) {
				t.Errorf("rows sum to %d, want %d", sum, total(p, 0))
			}
		})
	}
}

func TestTablesKeepHostileTextInItsCell(t *testing.T) {
	clean := parseTables(t, tablesText(t, sample(), TableOptions{}))
	dirty := parseTables(t, tablesText(t, hostile(), TableOptions{}))
	for section, rows := range clean {
		if len(dirty[section]) != len(rows) {
			t.Fatalf("%s has %d lines, want %d", section, len(dirty[section]), len(rows))
		}
		for i := range rows {
			if len(dirty[section][i]) != len(rows[i]) {
				t.Errorf("%s line %d has %d fields, want %d", section, i, len(dirty[section][i]), len(rows[i]))
			}
		}
	}
	for i, row := range clean["traces"] {
		want := strings.Count(row[len(row)-1], ";")
		if got := strings.Count(dirty["traces"][i][len(row)-1], ";"); got != want {
			t.Errorf("trace %d joins %d frames, want %d", i, got+1, want+1)
		}
	}
	for _, drawn := range []bool{false, true} {
		text := tablesText(t, hostile(), TableOptions{Drawn: drawn, Width: 100})
		checkVisible(t, text, "\n\t")
	}
}

// checkVisible fails for a character that escape would have written out, but
// for those that the form itself uses.
func checkVisible(t *testing.T, text, own string) {
	t.Helper()
	for _, r := range own {
		text = strings.ReplaceAll(text, string(r), "")
	}
	if escape.Text(text) != text {
		t.Errorf("text holds what can't be seen: %.300q", text)
	}
}

func TestDrawnTablesFitTheTerminalAndLoseNoFrame(t *testing.T) {
	p := forest(3, 200)
	for _, width := range []int{60, 80, 132, 250} {
		text := tablesText(t, p, TableOptions{Drawn: true, Top: 20, Width: width})
		for _, line := range strings.Split(text, "\n") {
			if w := twwidth.Width(line); w > width {
				t.Errorf("line of %d columns on a terminal of %d: %s", w, width, line)
			}
		}
		// Take the drawing away: every frame of the piped traces must be there.
		for _, row := range parseTables(t, tablesText(t, p, TableOptions{Top: 20}))["traces"][1:] {
			for _, frame := range strings.Split(row[1], ";") {
				if !strings.Contains(text, frame) {
					t.Fatalf("width %d: %s is missing", width, frame)
				}
			}
		}
	}
}

func TestMetricsThatDoNotFitStandBelow(t *testing.T) {
	p := forest(3, 20)
	p.Metrics = p.Metrics[:1]
	for _, name := range []string{"OffCPUTime", "OffCPUCount", "PreemptedTime", "PreemptedCount", "libc:pthread_mutex_lockTime"} {
		p.Metrics = append(p.Metrics, profile.Metric{Name: name, Type: name, Unit: "nanoseconds", Scale: 1})
	}
	for i := range p.Rows {
		p.Rows[i].Values = []uint64{uint64(i), 1e18 + 1, 1e18 + 2, 1e18 + 3, 1e18 + 4, 1e18 + 5}
	}
	for _, width := range []int{60, 80, 132, 250, 0} {
		text := tablesText(t, p, TableOptions{Drawn: true, Top: 20, Width: width})
		for _, line := range strings.Split(text, "\n") {
			if w := twwidth.Width(line); width > 0 && w > width {
				t.Errorf("line of %d columns on a terminal of %d: %s", w, width, line)
			}
		}
		for i := range p.Metrics[1:] {
			if got := strings.Count(text, fmt.Sprint(uint64(1e18)+uint64(i)+1)); got != len(p.Rows) {
				t.Errorf("width %d: %d values of %s, want %d", width, got, p.Metrics[i+1].Name, len(p.Rows))
			}
		}
	}
}

func TestOneTableKeepsItsSentences(t *testing.T) {
	heading := []string{"need", "state"}
	rows := [][]string{
		{"kernel function", "missing: this kernel was built without CONFIG_KPROBES"},
		{"evil" + evil, "used"},
	}
	var piped, drawn bytes.Buffer
	if err := WriteTable(&piped, heading, rows, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "need\tstate\nkernel function\tmissing: this kernel was built without CONFIG_KPROBES\n" +
		"evil" + escape.Text(evil) + "\tused\n"
	if piped.String() != want {
		t.Errorf("piped: %q, want %q", piped.String(), want)
	}
	if err := WriteTable(&drawn, heading, rows[:1], TableOptions{Drawn: true, Width: 50}); err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(rows[0][1]) {
		if !strings.Contains(drawn.String(), word) {
			t.Errorf("%q is missing in\n%s", word, drawn.String())
		}
	}
	for _, line := range strings.Split(drawn.String(), "\n") {
		if twwidth.Width(line) > 50 {
			t.Errorf("line of %d columns: %s", twwidth.Width(line), line)
		}
	}
}

func TestShortenKeepsBothEndsWithinTheWidth(t *testing.T) {
	for _, s := range []string{"short", strings.Repeat("long", 50) + "+0x123;", strings.Repeat("宽", 80), "a宽b宽c宽d宽e宽f"} {
		for width := 5; width < 60; width++ {
			got := shorten(s, width)
			if twwidth.Width(got) > width {
				t.Fatalf("shorten(%q, %d) = %q is %d wide", s, width, got, twwidth.Width(got))
			}
			head, tail, cut := strings.Cut(got, "…")
			if cut && (!strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail)) || !cut && got != s {
				t.Fatalf("shorten(%q, %d) = %q", s, width, got)
			}
		}
	}
}

func TestSummary(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSummary(&b, sample(), TableOptions{Top: 3}); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.txt", b.Bytes())
	b.Reset()
	if err := WriteSummary(&b, hostile(), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	checkVisible(t, b.String(), "\n")
}

func TestSummaryOfACleanRunIsThreeLines(t *testing.T) {
	p := sample()
	p.Accounts = []profile.Account{{Event: "cycles", Received: 185, Counted: 185, Exact: true}}
	p.Notes = nil
	var b bytes.Buffer
	if err := WriteSummary(&b, p, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "Showing 7 of 7 stacks (100% of 3.78 s on-CPU)\n" +
		"hottest functions: 66.5% ns::work(int) (worker), 24.3% vfs_read ([kernel]), 9.19% [unknown] (libfoo.so)\n" +
		"cycles: 185 samples received\n"
	if b.String() != want {
		t.Errorf("summary is %q, want %q", b.String(), want)
	}
}

type failing struct{ after int }

var errFull = errors.New("disk full")

func (f *failing) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestTablesTellThatTheReaderIsGone(t *testing.T) {
	for _, drawn := range []bool{false, true} {
		for _, after := range []int{0, 100, 5000} {
			err := WriteTables(&failing{after}, forest(5, 500), TableOptions{Drawn: drawn})
			if !errors.Is(err, errFull) {
				t.Errorf("drawn %v, %d bytes taken: error %v", drawn, after, err)
			}
		}
	}
}

func TestAnInconsistentProfileIsAnErrorInEveryForm(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*profile.Profile)
	}{
		{"no metric", func(p *profile.Profile) { p.Metrics = nil }},
		{"frame of no object", func(p *profile.Profile) { p.Frames[2].Object = 3 }},
		{"stack of no frame", func(p *profile.Profile) { p.Stacks[1].Frames[0] = -1 }},
		{"row of no process", func(p *profile.Profile) { p.Rows[1].Process = 3 }},
		{"row of no stack", func(p *profile.Profile) { p.Rows[0].User = 6 }},
		{"row of too few values", func(p *profile.Profile) { p.Rows[0].Values = nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := sample()
			tt.spoil(p)
			if err := WriteTables(&bytes.Buffer{}, p, TableOptions{}); err == nil {
				t.Error("tables: no error")
			}
			for _, f := range forms() {
				if err := f.write(&bytes.Buffer{}, p, FileOptions{}); err == nil {
					t.Errorf("%s: no error", f.ending)
				}
			}
		})
	}
}

// What one collector found most of is nothing to another: it is among the rows of both.
func TestTheMostOfEachCollectorIsInTheRowsOfAll(t *testing.T) {
	p := &profile.Profile{
		Metrics:   []profile.Metric{{Name: "OnCPUTime", Unit: "ns", Scale: 1}, {Name: "LeakedSize", Unit: "bytes", Scale: 1}, {Name: "LeakedCount", Unit: "counts", Scale: 1}},
		Processes: []profile.Process{{PID: 1, TGID: 1}},
		Accounts:  make([]profile.Account, 2),
	}
	row := func(values ...uint64) {
		p.Objects = []profile.Object{{}}
		p.Frames = append(p.Frames, profile.Frame{Name: strconv.Itoa(len(p.Frames))})
		p.Stacks = append(p.Stacks, profile.Stack{Frames: []int{len(p.Frames) - 1}})
		p.Rows = append(p.Rows, profile.Row{User: len(p.Stacks) - 1, Kernel: profile.None, Values: values})
	}
	for i := range uint64(20) {
		row(100+i, 0, 0)
		row(0, 10+i, 1)
	}
	row(0, 1_024_000, 1)
	row(0, 8, 500)
	tests := []struct {
		name   string
		metric string
		one    bool
		want   [][3]string // the last rows, the greatest first
	}{
		{"by their best share", "", false, [][3]string{{"0", "1024000", "1"}, {"0", "8", "500"}, {"119", "0", "0"}}},
		{"as chosen", "LeakedSize", false, [][3]string{{"0", "1024000", "1"}, {"0", "29", "1"}, {"0", "28", "1"}}},
		{"ties as well", "OnCPUTime", false, [][3]string{{"119", "0", "0"}, {"118", "0", "0"}, {"117", "0", "0"}}},
		{"of one collector", "", true, [][3]string{{"119", "0", "0"}, {"118", "0", "0"}, {"117", "0", "0"}}},
	}
	for _, tt := range tests {
		q := *p
		if tt.one {
			q.Accounts = p.Accounts[:1]
		}
		counts := parseTables(t, tablesText(t, &q, TableOptions{Top: 10, Metric: tt.metric}))["counts"]
		for i, want := range tt.want {
			if got := counts[len(counts)-1-i]; [3]string(got[3:]) != want {
				t.Errorf("%s: row %d from the end is %v, want %v", tt.name, i, got[3:], want)
			}
		}
	}
	q := *p
	q.Rows = p.Rows[len(p.Rows)-2:] // all tie in the first metric
	counts := parseTables(t, tablesText(t, &q, TableOptions{Top: 1, Metric: "OnCPUTime"}))["counts"]
	if got := counts[1][4]; got != "1024000" {
		t.Errorf("of ties the one with %s bytes is shown, want 1024000", got)
	}
}

func TestWhatIsLostBesideSamplesOfOtherProcessesIsAShareOfAll(t *testing.T) {
	for _, test := range []struct {
		account profile.Account
		want    string
	}{
		{profile.Account{Event: "cpu-clock", Received: 90, Lost: 10}, "cpu-clock: 90 samples received, 10 lost (10%)\n"},
		{profile.Account{Event: "cpu-clock", Lost: 18, Others: 1782}, "cpu-clock: 0 samples received, 18 of all processes lost (1%)\n"},
		{profile.Account{Event: "cpu-clock", Received: 90, Others: 1782}, "cpu-clock: 90 samples received\n"},
	} {
		var text bytes.Buffer
		if err := WriteAccount(&text, &test.account); err != nil || !strings.HasSuffix(text.String(), test.want) {
			t.Errorf("%q, %v; want %q", text.String(), err, test.want)
		}
	}
}
