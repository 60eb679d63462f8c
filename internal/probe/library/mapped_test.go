package library_test

import (
	"errors"
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/probe/library"
)

func TestAProcessHasItsProgramMappedAndNoOther(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{program: true, "/proc/self/exe": true, "mapped_test.go": false} {
		if got, err := library.Mapped(os.Getpid(), file); got != want || err != nil {
			t.Errorf("%s is mapped: %v, %v; want %v", file, got, err, want)
		}
	}
	var gone *library.ProcessError
	if _, err := library.Mapped(1<<22, program); !errors.As(err, &gone) {
		t.Errorf("a process that is not there: %v", err)
	}
}
