package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/dev/testlist"
	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// testsPerRun is how many tests of a package share one run of its binary, unless --only selects the tests.
const testsPerRun = 4

// runSeconds is how long one run of a test binary may take. Thorough tests run every release of a runtime.
func runSeconds() int {
	if testlimit.IsThorough() {
		return 3600
	}
	return 1200
}

// runTests runs the tests in the guest and reports as go test does. The exit
// code is 1 if a test failed or none passed.
func (o options) runTests(ctx context.Context, g *guest, r *root, spec wire.Spec, build func(command string, args ...string) error) (int, error) {
	packages, patterns, err := o.chosenTests(ctx)
	if err != nil {
		return 0, err
	}
	binaries := filepath.Join(g.dir, "tests") + "/"
	args := []string{"-c", "-ldflags=-w", "-o", binaries} // go test links the tests that it runs in this way, too
	for _, p := range packages {
		args = append(args, p.ImportPath)
		name := filepath.Base(p.ImportPath) + ".test"
		r.files["opt/tests/"+name] = binaries + name
		for _, pattern := range patterns[p.ImportPath] {
			spec.Tests = append(spec.Tests, wire.Test{
				Package: p.ImportPath, Path: "/opt/tests/" + name, Dir: p.Dir,
				Args: []string{"-test.run=" + pattern}, Seconds: runSeconds(),
			})
		}
	}
	if err := build("test", args...); err != nil {
		return 0, err
	}
	if testlimit.IsThorough() {
		if err := errors.Join(r.addNodes(g.kernel.arch), r.addJavas(g.kernel.arch)); err != nil {
			return 0, err
		}
	}
	if g.pages, err = r.write(g.initrd, spec); err != nil {
		return 0, err
	}
	report := newReport(g.kernel, o.json)
	g.silence = time.Duration(runSeconds()+60) * time.Second // the guest kills a test binary earlier
	err = g.run(ctx, nil, func(m wire.FromGuest) (bool, error) {
		switch m.Kind {
		case wire.Output:
			return false, report.write(ctx, spec.Tests, m.Data)
		case wire.Ended:
			return false, report.end(ctx, spec.Tests, m.Text)
		}
		return m.Kind == wire.Exit, nil
	})
	if err != nil {
		report.broke(spec.Tests, err)
	}
	if !o.json {
		report.results.Summarize(os.Stdout, "vm "+g.kernel.name)
	}
	if report.results.Failed > 0 || report.results.Passed == 0 {
		return 1, nil
	}
	return 0, nil
}

// chosenTests returns the packages that have tests to run, and by import path the patterns
// of these tests. A test binary runs once for each pattern. With --only, the tests are those
// that its file lists. Otherwise they are the tests whose name matches --run, in the packages
// of the command line or, if it names none, in all packages.
func (o options) chosenTests(ctx context.Context) ([]testlist.Package, map[string][]string, error) {
	patterns := map[string][]string{}
	if o.only != "" {
		text, err := os.ReadFile(o.only)
		if err != nil {
			return nil, nil, err
		}
		if patterns, err = onlyPatterns(string(text)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", o.only, err)
		}
		packages, err := testlist.Packages(ctx, o.root, slices.Sorted(maps.Keys(patterns)), regexp.MustCompile(""))
		return packages, patterns, err
	}
	where := o.args
	if len(where) == 0 {
		where = []string{"./..."}
	}
	function, subtests, nested := strings.Cut(o.run, "/")
	wanted, err := regexp.Compile(function)
	if err != nil {
		return nil, nil, err
	}
	packages, err := testlist.Packages(ctx, o.root, where, wanted)
	if err == nil && len(packages) == 0 {
		err = fmt.Errorf("no package of %s has a test that matches %s", strings.Join(where, " "), o.run)
	}
	for _, p := range packages {
		for tests := range slices.Chunk(p.Tests, testsPerRun) {
			pattern := "^(" + strings.Join(tests, "|") + ")$"
			if nested {
				pattern += "/" + subtests
			}
			patterns[p.ImportPath] = append(patterns[p.ImportPath], pattern)
		}
	}
	return packages, patterns, err
}
