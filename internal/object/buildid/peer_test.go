package buildid

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// run returns the output of a command in an environment with another home directory.
func run(t *testing.T, home string, command ...string) string {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip(command[0] + " is not installed")
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+home, "DEBUGINFOD_URLS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, &stderr)
	}
	return string(out)
}

func TestPeerReadelfPrintsTheSameBuildID(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{program(t, "sha1"), program(t, "md5"), program(t, "uuid"), "/bin/sh", self} {
		id, err := idOf(t, path)
		found := regexp.MustCompile(`Build ID: (\S+)`).FindStringSubmatch(run(t, t.TempDir(), "readelf", "-n", path))
		if (err == nil) != (found != nil) || found != nil && found[1] != hex.EncodeToString(id) {
			t.Errorf("%s: %x, %v; readelf says %q", path, id, err, found)
		}
	}
}

func TestPeerPerfPrintsTheSameBuildIDOfTheKernel(t *testing.T) {
	id, err := Kernel()
	if want := strings.TrimSpace(run(t, t.TempDir(), "perf", "buildid-list", "-k")); err != nil || hex.EncodeToString(id) != want {
		t.Errorf("%x, %v; perf says %s", id, err, want)
	}
}

func TestPeerFilesOfPerfsCacheAreFound(t *testing.T) {
	home := t.TempDir()
	files := Default(func(name string) string { return map[string]string{"HOME": home}[name] })
	path := compiled.Copy(t, program(t, "0x"+wanted))
	run(t, home, "perf", "buildid-cache", "-a", path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	got, err := name(files.Image(decode(t, wanted), path))
	if err != nil || !strings.HasPrefix(got, files.Cache) {
		t.Errorf("%q, %v; want a file in %s", got, err, files.Cache)
	}
	for _, id := range oneBit(decode(t, wanted)) {
		f, err := files.Image(id, path)
		notFound(t, f, err)
	}
}

func TestPeerTheFilesOfARecordingAreFound(t *testing.T) {
	perfrecord.Need(t)
	home := t.TempDir()
	files := Default(func(name string) string { return map[string]string{"HOME": home}[name] })
	recording := filepath.Join(home, "perf.data")
	run(t, home, "perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", "999", "--buildid-all", "-o", recording, "--", "sh", "-c",
		"i=0; while [ $i -lt 40 ]; do date >/dev/null; i=$((i+1)); done")
	found := map[string]int{}
	for line := range strings.Lines(run(t, home, "perf", "buildid-list", "-i", recording)) {
		text, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		id := decode(t, text)
		if strings.HasPrefix(path, "[kernel") {
			if got, err := name(files.Kallsyms(id)); err != nil || !strings.HasPrefix(got, files.Cache) {
				t.Errorf("%s: %q, %v", path, got, err)
			}
			found["kernel"]++
			continue
		}
		got, err := name(files.Image(id, path))
		switch {
		case strings.HasPrefix(path, "[vdso]"):
			found["vdso"]++
		case err == nil:
			found["file"]++
		default:
			continue // perf cannot store files of other mount namespaces
		}
		if err != nil || !strings.HasPrefix(got, files.Cache) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
		for _, other := range oneBit(id) {
			if got, err := name(files.Image(other, path)); err == nil {
				t.Errorf("%s has build id %x, not %x", got, id, other)
			}
		}
	}
	for _, kind := range []string{"kernel", "vdso", "file"} {
		if found[kind] == 0 {
			t.Errorf("the recording has no %s: %v", kind, found)
		}
	}
}
