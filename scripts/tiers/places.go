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

	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/scripts/results"
)

// places is where one live test ran, and why it was skipped elsewhere.
type places struct {
	ran     []run
	skipped []string // "TIER: REASON"
	left    bool     // to make test-all
}

// run is that a tier ran a test, and how long that took.
type run struct {
	tier    string
	seconds float64
}

func (r run) String() string { return fmt.Sprintf("%s %.2fs", r.tier, r.seconds) }

// newerKernels are the reasons for which the gate's guests skip what the kernels of
// make test-all have. Debian's stable kernel is the one guest that stays as it is.
var newerKernels = regexp.MustCompile(`\(Linux 6\.19 and later do\)$`)

// onlyInTestAll tells whether the gate leaves a test that was skipped for this reason.
func onlyInTestAll(reason string) bool {
	return reason == testlimit.OnlyThorough || newerKernels.MatchString(reason)
}

// reportPlaces writes how many live tests ran where, and to the runner's file where
// each one ran and how long it took. It tells whether each ran on some kernel; it has nothing to tell
// where there were no guests.
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

// add notes what a tier did with a test.
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

// mergeParents removes the tests that one kernel skipped as a whole and that turned out
// to have subtests on another: the subtests stand for them.
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
