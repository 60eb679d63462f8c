package hermetic

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestMain is also the program that a hostile shell starts: it prints what its own
// children see.
func TestMain(m *testing.M) {
	if os.Getenv("RINGTAP_TEST_HERMETIC") == "" {
		os.Exit(m.Run())
	}
	Set()
	out, err := exec.Command("sh", "-c", `umask; ulimit -s; ulimit -c; test $(ulimit -n) -gt 256 && echo enough
		echo "$LANG,$LC_ALL,$TZ,$COLUMNS"; trap`).CombinedOutput()
	os.Stdout.Write(out)
	if err != nil {
		os.Exit(1)
	}
	status, err := exec.Command("cat", "/proc/self/status").Output()
	for line := range strings.Lines(string(status)) {
		if mask, ok := strings.CutPrefix(line, "SigIgn:"); ok {
			ignored, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			fmt.Printf("ignored: %#x %v\n", uint32(ignored)&^(1<<31), err) // from 32 on are the threads library's
		}
	}
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func TestNothingOfTheShellReachesAChild(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `trap '' HUP INT QUIT TERM PIPE USR1; umask 077; ulimit -S -n 256; ulimit -S -s 1024
		LANG=de_DE.UTF-8 LC_ALL=tr_TR.UTF-8 TZ=Asia/Tokyo COLUMNS=20 exec "$0" <&-`, exe)
	cmd.Env = append(os.Environ(), "RINGTAP_TEST_HERMETIC=1")
	out, err := cmd.CombinedOutput()
	if want := "0022\n8192\n0\nenough\n,,UTC,\nignored: 0x0 <nil>\n"; err != nil || string(out) != want {
		t.Errorf("its children see\n%swant\n%s%v", out, want, err)
	}
}
