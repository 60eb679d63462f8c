// Package testlist finds the packages that have tests with certain names, without building them.
package testlist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Package is a package that has test files.
type Package struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
	Tests                     []string // the names of the test functions that were asked for
}

// Packages returns the packages that go list finds for the patterns in dir and that have a
// test function whose name matches name.
func Packages(ctx context.Context, dir string, patterns []string, name *regexp.Regexp) ([]Package, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}, patterns...)...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []Package
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		if p.Tests, err = p.tests(name); err != nil {
			return nil, err
		}
		if len(p.Tests) > 0 {
			found = append(found, p)
		}
	}
}

// tests returns the package's test functions whose names match.
func (p Package) tests(wanted *regexp.Regexp) ([]string, error) {
	var tests []string
	for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && wanted.MatchString(f.Name.Name) && f.Name.Name != "TestMain" {
				tests = append(tests, f.Name.Name)
			}
		}
	}
	return tests, nil
}
