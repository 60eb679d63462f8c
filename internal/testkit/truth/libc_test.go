package truth

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgramsLoadTheirOwnLibc(t *testing.T) {
	OwnLibc(t)
	maps, err := exec.Command("cat", "/proc/self/maps").Output()
	if err != nil {
		t.Fatal(err)
	}
	if own := filepath.Join(os.Getenv("LD_LIBRARY_PATH"), "libc.so.6"); !strings.Contains(string(maps), own) {
		t.Errorf("cat has not loaded %s:\n%s", own, maps)
	}
}
