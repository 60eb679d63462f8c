package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/facility"
)

// runVersion is what `run --version` prints: the bpftrace release whose output is the default.
const runVersion = "bpftrace v0.17.0 (ringtap)"

// printInfo prints the features of bpftrace's language on this kernel as `bpftrace --info` does,
// which scripts and bpftrace's test runner read, and then what `ringtap check` prints.
func printInfo(ctx context.Context, out *console) error {
	helpers, kernel, probes, build := facility.Features()
	var b strings.Builder
	fmt.Fprintf(&b, "Build\n  version: %s\n", runVersion)
	for _, section := range []struct {
		title    string
		features []facility.Feature
	}{{"", build}, {"Kernel helpers", helpers}, {"Kernel features", kernel}, {"Probe types", probes}} {
		if section.title != "" {
			fmt.Fprintf(&b, "\n%s\n", section.title)
		}
		for _, f := range section.features {
			fmt.Fprintf(&b, "  %s: %s\n", f.Name, yesNo(f.Has))
		}
	}
	b.WriteByte('\n')
	if _, err := fmt.Fprint(out.stdout, b.String()); err != nil {
		return ignoreClosedPipe(err)
	}
	return check(ctx, out, nil)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
