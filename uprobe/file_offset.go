package uprobe

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
)

// fileOffset is where a fetch argument reads memory at an offset of the probed file: @+OFFSET
// (Documentation/trace/uprobetracer.rst).
var fileOffset = regexp.MustCompile(`@\+(-?\w+)`)

// errFileOffset is why such an argument is refused at a return. Linux 6.1 and 6.12 add the offset twice.
var errFileOffset = errors.New("@+OFFSET at a return is misread by Linux before 6.18; read it at the entry")

// kernelArgs are a site's arguments as the kernel reads them right. Memory at an offset of the file lies at a
// known distance from the instruction that is probed, whose address every kernel has.
func (s *Site) kernelArgs() ([]ftrace.FetchArg, error) {
	args := make([]ftrace.FetchArg, len(s.Args))
	for i, a := range s.Args {
		if s.Return && fileOffset.MatchString(a.Fetch) && !since(6, 18) {
			return nil, fmt.Errorf("probe %s: argument %s: %w", s.Event, a.Name, errFileOffset)
		}
		if !s.Return {
			a.Fetch = besideInstruction(a.Fetch, s.Offset)
		}
		args[i] = a
	}
	return args, nil
}

// besideInstruction rewrites @+OFFSET as a distance from the probed instruction, whose file offset is given.
// It leaves an offset that is not a number to the kernel, which refuses it.
func besideInstruction(fetch string, instruction uint64) string {
	return fileOffset.ReplaceAllStringFunc(fetch, func(at string) string {
		offset, err := strconv.ParseInt(at[len("@+"):], 0, 64)
		if err != nil {
			return at
		}
		return fmt.Sprintf("%+d(%s)", offset-int64(instruction), instructionPointer)
	})
}

// since tells whether the kernel is of a release or a later one.
func since(major, minor int) bool {
	var name unix.Utsname
	var is [2]int
	if unix.Uname(&name) != nil {
		return false
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &is[0], &is[1]); err != nil {
		return false
	}
	return is[0] > major || is[0] == major && is[1] >= minor
}
