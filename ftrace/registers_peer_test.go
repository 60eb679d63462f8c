package ftrace

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// perf probe finds a function's arguments by their DWARF locations.
func TestPeerArgumentsAreWherePerfProbeFindsThem(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("perf is not installed")
	}
	if os.Geteuid() != 0 {
		t.Skip("root: perf probe looks into tracefs")
	}
	path, _ := buildFile(t, manyArgsSource, "f")
	out, err := exec.Command("perf", "probe", "-x", path, "-D", "f a b c s p g h i j k").CombinedOutput()
	if err != nil {
		t.Skipf("perf probe without DWARF support: %s", out)
	}
	places := regexp.MustCompile(` \w+=([^: ]+)`).FindAllStringSubmatch(string(out), -1)
	if len(places) != 10 {
		t.Fatalf("perf probe finds %q; want ten arguments", out)
	}
	for i, place := range places {
		args, _, err := UserArgs([]FetchArg{{Name: "a", Fetch: fmt.Sprintf("$arg%d", i+1)}}, runtime.GOARCH, false)
		if err != nil {
			t.Fatal(err)
		}
		want := place[1]
		if offset, ok := strings.CutSuffix(want, "(%sp)"); ok {
			bytes, err := strconv.Atoi(offset)
			if err != nil {
				t.Fatal(err)
			}
			want = fmt.Sprintf("$stack%d", bytes/8)
		}
		if args[0].Fetch != want {
			t.Errorf("argument %d: %s; perf probe fetches %s", i+1, args[0].Fetch, place[1])
		}
	}
}
