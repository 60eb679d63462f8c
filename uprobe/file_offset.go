package uprobe

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/proc"
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
		if s.Return && fileOffset.MatchString(a.Fetch) && !readsFileOffsets() {
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

// readsFileOffsets reports whether the running kernel reads @+OFFSET right. A kernel whose release
// is unknown counts as one that does not.
func readsFileOffsets() bool {
	r, err := proc.Live.Release()
	return err == nil && r.Since(6, 18)
}
