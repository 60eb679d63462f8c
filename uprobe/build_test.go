package uprobe

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

//go:embed testdata/hits.*
var sources embed.FS

// builds are programs that call functions of testdata as often as their first
// argument says. {} is the source's path without its ending.
var builds = map[string]string{
	"pie":         "gcc -g -O2 -fPIE -pie -o pie {}.c -pthread",
	"nopie":       "gcc -O2 -fno-pie -no-pie -o nopie {}.c -pthread",
	"static":      "gcc -O2 -static -o static {}.c -pthread",
	"static-pie":  "gcc -O2 -static-pie -fPIE -o static-pie {}.c -pthread",
	"one-segment": "gcc -O2 -fPIE -pie -Wl,-z,noseparate-code -o one-segment {}.c -pthread",
	"stripped":    "gcc -O2 -s -o stripped {}.c -pthread",
	"debugdata": "gcc -O2 -o debugdata {}.c -pthread\nobjcopy --only-keep-debug debugdata mini\nobjcopy --strip-debug mini\n" +
		"xz mini\nstrip debugdata\nobjcopy --add-section .gnu_debugdata=mini.xz debugdata",
	"debuglink": "gcc -g -O2 -o debuglink {}.c -pthread\nobjcopy --only-keep-debug debuglink debuglink.debug\n" +
		"strip debuglink\nobjcopy --add-gnu-debuglink=debuglink.debug debuglink",
	"shared": "gcc -g -O2 -DLIBRARY -fPIC -shared -o libhits.so {}.c\n" +
		"gcc -O2 -DMAIN_ONLY -Wl,-rpath,$ORIGIN -o shared {}.c libhits.so -pthread",
	"i386":        "gcc -m32 -idirafter /usr/include/x86_64-linux-gnu -g -O2 -o i386 {}.c -pthread",
	"i386-go":     "env GOARCH=386 go build -o i386-go {}.go",
	"object":      "gcc -O2 -c -o object {}.c",
	"cxx":         "g++ -g -O2 -o cxx {}.cc",
	"rust":        "rustc -g -C opt-level=2 -o rust {}.rs",
	"go":          "go build -o go {}.go",
	"go-stripped": "go build -ldflags=-s -o go-stripped {}.go",
}

// unavailable is why a build can't be made or run on this machine, or "".
func unavailable(t *testing.T, name string) string {
	t.Helper()
	if strings.HasPrefix(name, "i386") {
		if arch.Here != arch.AMD64 {
			return "there are no 32-bit programs for " + runtime.GOARCH
		}
		if _, err := os.Stat("/usr/lib32/crt1.o"); err != nil {
			return "libc6-dev-i386 is not installed"
		}
		if err := exec.Command(build(t, name), "0").Run(); errors.Is(err, unix.ENOEXEC) || errors.Is(err, fs.ErrNotExist) {
			return "32-bit programs can't run here: CONFIG_IA32_EMULATION, /lib/ld-linux.so.2"
		}
	}
	for line := range strings.Lines(builds[name]) {
		if tool := strings.Fields(line)[0]; !installed(tool) {
			return tool + " is not installed"
		}
	}
	return ""
}

func installed(tool string) bool {
	_, err := exec.LookPath(tool)
	return err == nil
}

// build makes one of the builds and returns its path, which is shared. It skips
// the test where a compiler is missing.
func build(t testing.TB, name string) string {
	t.Helper()
	r := compiled.Recipe{Sources: map[string]string{}, Env: []string{"GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0"}}
	for _, ending := range []string{".c", ".cc", ".rs", ".go"} {
		text, err := sources.ReadFile("testdata/hits" + ending)
		if err != nil {
			t.Fatal(err)
		}
		r.Sources["hits"+ending] = string(text)
	}
	for line := range strings.Lines(strings.ReplaceAll(builds[name], "{}", "hits")) {
		r.Commands = append(r.Commands, strings.Fields(line))
	}
	return filepath.Join(r.Dir(t), name)
}

// own is a build for a test that puts probes on it or changes it.
func own(t testing.TB, name string) string {
	t.Helper()
	return compiled.Copy(t, build(t, name))
}

// resolve parses and resolves a definition. The plan lives as long as the test.
func resolve(t testing.TB, text string, o Options) *Plan {
	t.Helper()
	p, err := tryResolve(text, o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func tryResolve(text string, o Options) (*Plan, error) {
	d, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return Resolve(d, o)
}

// replaceTarget puts the path of a program in the place of {}.
func replaceTarget(definition, path string) string {
	return strings.ReplaceAll(definition, "{}", path)
}
