// Command typecheck finds code that does not compile for an architecture, without compiling it:
//
//	go run ./internal/dev/typecheck arm64 ./...
//
// It checks the types of packages and of their tests, from their sources, in four seconds. go vet finds more
// mistakes, but first compiles everything that the packages import, including the standard library. On a machine
// that has not done so before, that takes more than two minutes of CPU time. make check runs typecheck, and make
// test-all also runs go vet.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// listed is a package as go list -json writes it.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	DepOnly    bool
	Module     *struct{ GoVersion string }
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck GOARCH PACKAGE...")
		os.Exit(2)
	}
	mistakes, err := check(".", os.Args[1], os.Args[2:])
	for _, m := range mistakes {
		fmt.Fprintln(os.Stderr, m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
	}
	if err != nil || len(mistakes) > 0 {
		os.Exit(1)
	}
}

// check checks the packages that the patterns name, with their tests, for an architecture. dir is in their module.
func check(dir, architecture string, patterns []string) (mistakes []string, err error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,DepOnly,Module"}, patterns...)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOARCH="+architecture, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	c := checker{sizes: types.SizesFor("gc", architecture), known: map[string]*types.Package{"unsafe": types.Unsafe}}
	for packages := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listed
		err := packages.Decode(&p)
		if err == io.EOF {
			return c.mistakes, nil
		}
		if err != nil {
			return c.mistakes, fmt.Errorf("go list: %w", err)
		}
		c.check(&p)
	}
}

// checker checks packages in the order in which go list -deps lists them: imported packages come first.
type checker struct {
	files    token.FileSet
	sizes    types.Sizes
	known    map[string]*types.Package
	mistakes []string
}

// check checks one package. If the patterns do not name it, check ignores the bodies of its functions.
func (c *checker) check(p *listed) {
	if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // .test is the main package that go test writes
		return
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(&c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			c.found(err)
			return
		}
		files = append(files, file)
	}
	config := types.Config{Importer: importer{c.known, p.ImportMap}, Sizes: c.sizes, IgnoreFuncBodies: p.DepOnly, Error: c.found}
	if p.Module != nil {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // "a [a.test]" is a with its tests
	c.known[p.ImportPath], _ = config.Check(path, &c.files, files, nil)
}

// found adds a mistake, once. A package with tests is checked twice: without and with its tests.
func (c *checker) found(err error) {
	if m := err.Error(); !slices.Contains(c.mistakes, m) {
		c.mistakes = append(c.mistakes, m)
	}
}

// importer finds packages that were checked.
type importer struct {
	known map[string]*types.Package
	names map[string]string // import path in the source → import path of the package, if they differ
}

func (i importer) Import(name string) (*types.Package, error) {
	if other, ok := i.names[name]; ok {
		name = other
	}
	if p := i.known[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no package %s is listed", name)
}
