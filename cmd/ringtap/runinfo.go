package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/cli/facility"
)

// bpftrace is the name under which ringtap takes bpftrace's command line. Its output is then that of
// bpftrace 0.26, the release that bpftrace's manual and tests describe.
const bpftrace = "bpftrace"

// runVersion returns what --version prints under a name that ringtap was called by: the bpftrace release whose
// output is the default under that name.
func runVersion(called string) string {
	if called == bpftrace {
		return "bpftrace v0.26.0 (ringtap)"
	}
	return "bpftrace v0.17.0 (ringtap)"
}

// printInfo prints the features of bpftrace's language on this kernel as `bpftrace --info` does,
// which scripts and bpftrace's test runner read, and then what `ringtap check` prints.
func printInfo(ctx context.Context, out *console) error {
	helpers, kernel, probes, build := facility.Features()
	var b strings.Builder
	fmt.Fprintf(&b, "Build\n  version: %s\n", runVersion(out.called))
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
