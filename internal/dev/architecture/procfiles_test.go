package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readProc lists the folders whose files may name and read files below /proc.
var readProc = []string{"internal/host", "internal/process", "internal/testkit", "internal/dev"}

// nameProc lists the files outside of readProc that name a file below /proc themselves, each
// with its reason.
var nameProc = map[string]string{
	"internal/cli/facility/needs.go":       "the name of a facility, for people",
	"internal/output/replace.go":           "the name of a descriptor for linkat(2); output may not know the host",
	"uprobe/chosen.go":                     "maps and mem of a process, which uprobe may not know as process.Process",
	"internal/readmem/helper/namespace.go": "the helper's read at a hit must not allocate",
}

// procFile matches a string that names a file below /proc, also relative to another root.
var procFile = regexp.MustCompile(`^(/proc|/?proc/\S*)$`)

// opensFile matches calls that open a file or read one.
var opensFile = regexp.MustCompile(`^(os|unix|syscall)\.(Open|OpenFile|Openat|ReadFile)$`)

func TestFilesOfProcAreReadInOnePlace(t *testing.T) {
	const root = "../../.."
	seen := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || slices.Contains(readProc, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, use := range procUses(file) {
			if nameProc[name] == "" {
				t.Errorf("%s:%d %s: ask package internal/host/proc or process.Host", name, files.Position(use.pos).Line, use.why)
			}
			seen[name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range nameProc {
		if !seen[name] {
			t.Errorf("%s names no file below /proc", name)
		}
	}
}

// procUse is a place where a file names a file below /proc, or opens one.
type procUse struct {
	pos token.Pos
	why string
}

// procUses returns the strings of a file that name files below /proc, and the calls that open a
// file by a name from proc.Live.
func procUses(file *ast.File) (uses []procUse) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && procFile.MatchString(text) {
				uses = append(uses, procUse{n.Pos(), "names " + text})
			}
		case *ast.CallExpr:
			if called := spelled(n.Fun); opensFile.MatchString(called) && slices.ContainsFunc(n.Args, namesProc) {
				uses = append(uses, procUse{n.Pos(), "calls " + called + " with a name below /proc"})
			}
		}
		return true
	})
	return uses
}

// namesProc reports whether an argument is a name from proc.Live.
func namesProc(argument ast.Expr) bool {
	call, ok := argument.(*ast.CallExpr)
	return ok && strings.HasPrefix(spelled(call.Fun), "proc.Live.")
}

// spelled returns the name of a function as the source spells it: "os.Open".
func spelled(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return spelled(e.X) + "." + e.Sel.Name
	}
	return ""
}

func TestEveryWayToOpenAFileOfProcIsFound(t *testing.T) {
	for text, want := range map[string]int{
		`os.Open("/proc/kallsyms")`:                      1,
		"os.ReadFile(`/proc/self/cgroup`)":               1,
		`fmt.Sprintf("/proc/%d/maps", pid)`:              1,
		`os.ReadDir("/proc")`:                            1,
		`os.Open(h.path("proc/cgroups"))`:                1,
		`os.Open(proc.Live.Path(pid, "maps"))`:           1,
		`unix.Open(proc.Live.Name("kcore"), 0, 0)`:       1,
		`fmt.Println("/proc does not have this")`:        0,
		`fmt.Println("ringtap reads /proc/kcore")`:       0,
		`exec.Command(proc.Live.Self("exe"))`:            0,
		`proc.Live.Kallsyms()`:                           0,
		`os.Open("/sys/kernel/btf/vmlinux")`:             0,
		`fmt.Println(strings.Split("a b", "processes"))`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() { "+text+" }\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if uses := procUses(file); len(uses) != want {
			t.Errorf("%s: %v, want %d uses", text, uses, want)
		}
	}
}
