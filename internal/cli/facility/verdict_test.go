package facility

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// all are needs that a host has or lacks.
func all(lacking ...string) []Need {
	var needs []Need
	for _, c := range commands {
		for _, r := range c.needs {
			if slices.ContainsFunc(needs, func(n Need) bool { return n.what == r.need }) {
				continue
			}
			choice := Choice{facility: "it"}
			if slices.Contains(lacking, r.need) {
				choice.err = errors.New("not in this kernel")
			}
			needs = append(needs, Need{what: r.need, choices: []Choice{choice}})
		}
	}
	return needs
}

func verdict(t *testing.T, verdicts []Verdict, command string) Verdict {
	t.Helper()
	for _, v := range verdicts {
		if v.command == command {
			return v
		}
	}
	t.Fatalf("no verdict of %s", command)
	return Verdict{}
}

func TestEverythingWorksWhereNothingIsMissing(t *testing.T) {
	for _, v := range judge(all(), true) {
		if v != (Verdict{command: v.command}) {
			t.Errorf("%+v", v)
		}
	}
}

func TestAMissingNeedFailsOrLimitsItsCommands(t *testing.T) {
	verdicts := judge(all("kernel function"), true)
	if v := verdict(t, verdicts, "kprobe"); v.state != Fails || v.why != "kernel function: not in this kernel" || !strings.Contains(v.do, "ringtap tpoint") {
		t.Errorf("%+v", v)
	}
	if v := verdict(t, verdicts, "hist"); v.state != InPart || v.why != "user functions and tracepoints only" {
		t.Errorf("%+v", v)
	}
	if v := verdict(t, verdicts, "on-cpu"); v.state != Works {
		t.Errorf("%+v", v)
	}
}

func TestAnOrdinaryUserIsToldToRunAsRoot(t *testing.T) {
	v := verdict(t, judge(all("the whole system", "the kernel's part", "tracepoints"), false), "on-cpu")
	if v.state != InPart || v.why != "own processes only; no kernel stacks" || !strings.Contains(v.do, "run as root, or profile your own process with -p PID") {
		t.Errorf("%+v", v)
	}
}

// What commands need are needs that Needs tells of.
func TestCommandsNeedWhatIsKnown(t *testing.T) {
	needs := Needs()
	for _, c := range commands {
		for _, r := range c.needs {
			if !slices.ContainsFunc(needs, func(n Need) bool { return n.what == r.need }) {
				t.Errorf("%s needs %q, which Needs does not have", c.name, r.need)
			}
		}
	}
}
