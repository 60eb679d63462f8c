package facility

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestANeedShowsEachChoiceAndWhatIsDoneWithout(t *testing.T) {
	missing := errors.New("not in this kernel")
	got := NeedRows([]Need{
		{what: "stacks", choices: []Choice{{"fast", missing}, {"slow", nil}, {"slower", nil}}, otherwise: "none are shown"},
		{what: "names", choices: []Choice{{"kallsyms", missing}}, otherwise: "addresses"},
		{what: "spare", choices: []Choice{{"extra", nil}}, spare: true},
	})
	want := [][]string{
		{"need", "facility", "state"},
		{"stacks", "fast", "missing: not in this kernel"}, {"stacks", "slow", "used"}, {"stacks", "slower", "present"},
		{"names", "kallsyms", "missing: not in this kernel"}, {"names", "none", "instead: addresses"},
		{"spare", "extra", "present, not needed"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestAVerdictSaysWhatToDo(t *testing.T) {
	verdicts := []Verdict{{command: "on-cpu"}, {command: "llc", state: Fails, why: "no counters", do: "bare metal"}}
	want := "on-cpu      works\nllc         " + Fails.String() + "\n              no counters\n              bare metal\n\n'ringtap check -v' shows the facilities behind this.\n"
	if diff := cmp.Diff(want, Text(verdicts)); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if rows := VerdictRows(verdicts); len(rows) != 3 || rows[1][2] != "-" || rows[2][3] != "bare metal" {
		t.Errorf("%q", rows)
	}
}
