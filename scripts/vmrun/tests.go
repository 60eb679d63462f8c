package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ringtap/ringtap/scripts/vmrun/wire"
)

// packageSeconds is how long the tests of one package may take.
const packageSeconds = 600

// testPackage is a package that has tests to run.
type testPackage struct {
	ImportPath, Name, Dir     string
	TestGoFiles, XTestGoFiles []string
}

// runTests runs the tests in the guest and reports as go test does. The exit
// code is 1 if a test failed.
func (o options) runTests(ctx context.Context, g *guest, r *root, spec wire.Spec, build func(args ...string) error) (int, error) {
	packages, patterns, err := o.chosenTests(ctx)
	if err != nil {
		return 0, err
	}
	binaries := filepath.Join(g.dir, "tests") + "/"
	args := []string{"test", "-c", "-o", binaries}
	for _, p := range packages {
		args = append(args, p.ImportPath)
		name := filepath.Base(p.ImportPath) + ".test"
		r.files["opt/tests/"+name] = binaries + name
		for _, pattern := range patterns[p.ImportPath] {
			spec.Tests = append(spec.Tests, wire.Test{
				Package: p.ImportPath, Path: "/opt/tests/" + name, Dir: p.Dir,
				Args: []string{"-test.run=" + pattern}, Seconds: packageSeconds,
			})
		}
	}
	if err := build(args...); err != nil {
		return 0, err
	}
	if err := r.write(g.initrd, spec); err != nil {
		return 0, err
	}
	report := newReport(g.kernel, o.json)
	g.silence = (packageSeconds + 60) * time.Second // a test binary is killed before
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

// chosenTests returns the packages that have tests to run, and for each the patterns
// of its tests; a test binary runs once for each pattern. The tests are those that the
// file of --only lists, or those of the packages of the command line, or of all
// packages, whose name matches.
func (o options) chosenTests(ctx context.Context) ([]testPackage, map[string][]string, error) {
	patterns := map[string][]string{}
	if o.only != "" {
		text, err := os.ReadFile(o.only)
		if err != nil {
			return nil, nil, err
		}
		if patterns, err = onlyPatterns(string(text)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", o.only, err)
		}
		packages, err := o.listPackages(ctx, slices.Sorted(maps.Keys(patterns)))
		return packages, patterns, err
	}
	packages, err := o.testPackages(ctx)
	for _, p := range packages {
		patterns[p.ImportPath] = []string{o.run}
	}
	return packages, patterns, err
}

// testPackages returns the packages of the command line, or all, that have
// tests whose name matches.
func (o options) testPackages(ctx context.Context) ([]testPackage, error) {
	patterns := o.args
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	function, _, _ := strings.Cut(o.run, "/") // the rest chooses subtests
	wanted, err := regexp.Compile(function)
	if err != nil {
		return nil, err
	}
	listed, err := o.listPackages(ctx, patterns)
	if err != nil {
		return nil, err
	}
	var found []testPackage
	for _, p := range listed {
		has, err := p.has(wanted)
		if err != nil {
			return nil, err
		}
		if has {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no package of %s has a test that matches %s", strings.Join(patterns, " "), o.run)
	}
	return found, nil
}

// listPackages returns the packages that go list finds for the patterns.
func (o options) listPackages(ctx context.Context, patterns []string) ([]testPackage, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Name,Dir,TestGoFiles,XTestGoFiles"}, patterns...)...)
	cmd.Dir = o.root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []testPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p testPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
}

// has tells whether the package has a test of a wanted name.
func (p testPackage) has(wanted *regexp.Regexp) (bool, error) {
	for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && wanted.MatchString(f.Name.Name) && f.Name.Name != "TestMain" {
				return true, nil
			}
		}
	}
	return false, nil
}
