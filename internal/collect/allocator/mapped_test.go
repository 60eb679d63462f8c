package allocator

import (
	"bufio"
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

const maps = `5581e0000000-5581e0001000 r--p 00000000 fe:01 100                        /usr/bin/prog
5581e0001000-5581e0002000 r-xp 00001000 fe:01 100                        /usr/bin/prog
5581e0002000-5581e0003000 r-xp 00002000 fe:01 100                        /usr/bin/prog
7f0000000000-7f0000100000 r-xp 00028000 fe:01 101                        /usr/lib/with blank/libc.so.6 (deleted)
7f0000100000-7f0000200000 rw-p 00000000 00:00 0 
7f0000200000-7f0000201000 r-xp 00000000 00:00 0                          [vdso]
7f0000300000-7f0000301000 rwxp 00000000 00:00 0 
`

func TestWhatAProcessMapsToRun(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/1", 0o755), os.WriteFile(dir+"/1/maps", []byte(maps), 0o644)); err != nil {
		t.Fatal(err)
	}
	got, err := process.Host{Proc: dir}.MappedCode(1)
	if want := []string{"/usr/bin/prog", "/usr/lib/with blank/libc.so.6 (deleted)"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	got, err = process.Host{}.MappedCode(os.Getpid())
	self, _ := os.Executable()
	if err != nil || !slices.Contains(got, self) {
		t.Errorf("%q, %v; want %s among them", got, err, self)
	}
}

//go:embed testdata/bare.c
var bare string

func TestAProgramIsWaitedForInTheMiddleOfItsExec(t *testing.T) {
	truth.OwnLibc(t) // it copies code, and would copy others' breakpoints
	cmd := exec.Command(program(t, bare))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	if paths, err := (process.Host{}).MappedCode(cmd.Process.Pid); err != nil || len(paths) > 0 {
		t.Fatalf("%q, %v; want none yet", paths, err)
	}
	if paths, err := new(finder).mappedAfterExec(cmd.Process.Pid); err != nil || !slices.Equal(paths, []string{cmd.Path}) {
		t.Errorf("%q, %v; want %q", paths, err, cmd.Path)
	}
}
