package ftrace_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

// A synthetic event of ours comes, counts and goes, and nobody else's changes.
func TestLiveASyntheticEventIsRemovedAgain(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Skip(err)
	}
	before, err := os.ReadFile(tracefs.Dir() + "/synthetic_events")
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := tracefs.NewSynthetic("u64 took"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("where there are none: %v", err)
		}
		t.Skip("this kernel has no synthetic_events")
	}
	first, err := tracefs.NewSynthetic("u64 took")
	if err != nil {
		t.Fatal(err)
	}
	second, err := tracefs.NewSynthetic("u64 took; pid_t who")
	if err != nil {
		t.Fatal(err)
	}
	if first.Name() == second.Name() {
		t.Errorf("two events of the name %s", first.Name())
	}
	format, err := tracefs.Format(second.System(), second.Name())
	if err != nil {
		t.Fatal(err)
	}
	if format.Field("took") == nil || format.Field("who") == nil {
		t.Errorf("fields %+v", format.Fields)
	}
	text, err := os.ReadFile(tracefs.Dir() + "/synthetic_events")
	if err != nil || strings.Count(string(text), "ringtap_") != strings.Count(string(before), "ringtap_")+2 {
		t.Errorf("synthetic_events is %q, %v", text, err)
	}
	for _, s := range []*ftrace.Synthetic{first, second, first} {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if after, err := os.ReadFile(tracefs.Dir() + "/synthetic_events"); err != nil || string(after) != string(before) {
		t.Errorf("synthetic_events was %q and is %q, %v", before, after, err)
	}
}
