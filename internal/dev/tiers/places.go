package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/dev/results"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// places is where one live test ran, and why it was skipped elsewhere.
type places struct {
	ran     []run
	skipped []string // "TIER: REASON"
	left    bool     // the gate leaves it to make test-all
}

// run says which tier ran a test, and how long that took.
type run struct {
	tier    string
	seconds float64
}

func (r run) String() string { return fmt.Sprintf("%s %.2fs", r.tier, r.seconds) }

// newerKernels matches the reasons for which the gate's guest skips tests that need newer
// kernels, which make test-all has. The gate's guest keeps Debian's stable kernel.
var newerKernels = regexp.MustCompile(`\(Linux 6\.19 and later do\)$`)

// onlyInTestAll reports whether the gate leaves a test to make test-all that was skipped for this reason.
func onlyInTestAll(reason string) bool {
	return reason == testlimit.OnlyThorough || newerKernels.MatchString(reason)
}

// reportPlaces prints how many live tests ran in which tier. To the runner's file it writes where
// each one ran and how long it took. It reports whether each test ran on some kernel. Without the live
// tier or without guests, it prints nothing and returns true.
func (r *runner) reportPlaces() bool {
	tests := map[string]*places{}
	live, guests := false, false
	for _, o := range r.done {
		if !o.tier.guest && o.tier.name != "live" {
			continue
		}
		live, guests = live || !o.tier.guest, guests || o.tier.guest
		for _, t := range o.results.Tests {
			add(tests, o.tier.name, t)
		}
	}
	if !live || !guests {
		return true
	}
	mergeParents(tests)
	byTier := map[string]int{}
	var text strings.Builder
	var nowhere []string
	left := 0
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		p := tests[name]
		var ran []string
		for _, r := range p.ran {
			byTier[r.tier]++
			ran = append(ran, r.String())
		}
		fmt.Fprintf(&text, "%s\t%s\t%s\n", name, strings.Join(ran, ", "), strings.Join(p.skipped, "; "))
		switch {
		case len(p.ran) > 0:
		case p.left:
			left++
		default:
			nowhere = append(nowhere, name+": "+strings.Join(p.skipped, "; "))
		}
	}
	fmt.Fprintf(r.w, "== where the %d live tests ran\n", len(tests))
	for _, tier := range slices.Sorted(maps.Keys(byTier)) {
		fmt.Fprintf(r.w, "%6d on %s\n", byTier[tier], tier)
	}
	if left > 0 {
		fmt.Fprintf(r.w, "%6d %s\n", left, testlimit.OnlyThorough)
	}
	fmt.Fprintf(r.w, "%6d on no kernel\n", len(nowhere))
	for _, name := range nowhere {
		fmt.Fprintf(r.w, "       %s\n", name)
	}
	if r.report != "" {
		err := errors.Join(os.MkdirAll(filepath.Dir(r.report), 0o755), os.WriteFile(r.report, []byte(text.String()), 0o644))
		if err != nil {
			fmt.Fprintln(r.w, err)
		}
	}
	return len(nowhere) == 0
}

// add adds to tests what a tier did with a test.
func add(tests map[string]*places, tier string, t results.Test) {
	name := t.Package + " " + t.Name
	p := tests[name]
	if p == nil {
		p = &places{}
		tests[name] = p
	}
	if t.Action == "skip" {
		p.skipped = append(p.skipped, tier+": "+t.Reason)
		p.left = p.left || onlyInTestAll(t.Reason)
	} else {
		p.ran = append(p.ran, run{tier, t.Seconds})
	}
}

// mergeParents removes tests that one kernel skipped as a whole and that have subtests on
// another kernel. Only the subtests remain, and get the reasons of their parents' skips.
func mergeParents(tests map[string]*places) {
	for name, p := range tests {
		for i, c := range name {
			if parent := tests[name[:i]]; c == '/' && parent != nil {
				p.skipped = append(slices.Clone(parent.skipped), p.skipped...)
			}
		}
	}
	for name := range tests {
		for i, c := range name {
			if c == '/' {
				delete(tests, name[:i])
			}
		}
	}
}
