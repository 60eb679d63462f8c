package count

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/cli/usage"
)

func TestTheMostCalledComeLast(t *testing.T) {
	hits := map[string]uint64{"a": 7, "b": 7, "never": 0, "most": 100, "c\x1b": 3}
	for _, test := range []struct {
		top  int
		want string
	}{
		{0, "c\\x1b 3, b 7, a 7, most 100"},
		{2, "a 7, most 100"},
	} {
		var out bytes.Buffer
		c := Request{Out: &out, Top: test.top}
		if err := c.print(hits); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		var rows []string
		for _, line := range lines[1:] {
			rows = append(rows, strings.Join(strings.Fields(line), " "))
		}
		if got := strings.Join(rows, ", "); got != test.want || strings.Join(strings.Fields(lines[0]), " ") != "FUNC COUNT" {
			t.Errorf("top %d: %s, want %s", test.top, got, test.want)
		}
	}
}

func TestTheFirstLineSaysWhatIsCounted(t *testing.T) {
	for _, test := range []struct {
		of   Request
		want string
	}{
		{Request{}, "Tracing \"vfs_*\" (2 functions)... Ctrl-C to end.\n"},
		{Request{Top: 3}, "Tracing \"vfs_*\" (2 functions). Top 3 only... Ctrl-C to end.\n"},
		{Request{Duration: 1500 * time.Millisecond, Top: 3}, "Tracing \"vfs_*\" (2 functions) for 1.5 seconds. Top 3 only...\n"},
	} {
		var out bytes.Buffer
		test.of.Out = &out
		if err := test.of.greet("vfs_*", several(2, "function")); err != nil || out.String() != test.want {
			t.Errorf("%v\n%s", err, cmp.Diff(test.want, out.String()))
		}
	}
}

func TestNoPatternIsWrongUsage(t *testing.T) {
	for _, spec := range []string{"", "p:", " "} {
		err := Report(t.Context(), Request{Spec: spec, Target: &target.Target{}})
		if !errors.As(err, new(*usage.Error)) {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

func TestTheFunctionTracerCountsProcessesAndTheWholeSystemOnly(t *testing.T) {
	for _, of := range []target.Target{{TID: 7}, {Cgroup: "/g"}, {Command: []string{"true"}}} {
		err := Report(t.Context(), Request{Spec: "vfs_read", Target: &of, Way: wayFunction, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.HasPrefix(err.Error(), "the function tracer counts the calls of processes") {
			t.Errorf("%+v: %v", of, err)
		}
	}
}
