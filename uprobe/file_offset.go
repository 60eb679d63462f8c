package uprobe

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/host/proc"
)

// fileOffset matches @+OFFSET, which reads memory at an offset of the probed file
// (Documentation/trace/uprobetracer.rst).
var fileOffset = regexp.MustCompile(`@\+(-?\w+)`)

// errFileOffset is returned for such an argument at a return: Linux 6.1 and 6.12 add the offset
// twice.
var errFileOffset = errors.New("@+OFFSET at a return is misread by Linux before 6.18; read it at the entry")

// kernelArgs returns a site's arguments in a form that every kernel reads correctly. File
// offsets are rewritten relative to the probed instruction, whose address every kernel has.
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

// besideInstruction rewrites @+OFFSET relative to the probed instruction, which is at the given
// file offset. An offset that is not a number is left unchanged; the kernel rejects it.
func besideInstruction(fetch string, instruction uint64) string {
	return fileOffset.ReplaceAllStringFunc(fetch, func(match string) string {
		offset, err := strconv.ParseInt(match[len("@+"):], 0, 64)
		if err != nil {
			return match
		}
		return fmt.Sprintf("%+d(%s)", offset-int64(instruction), instructionPointer())
	})
}

// instructionPointer returns the fetch argument for the program counter.
func instructionPointer() string { return "%" + arch.Here.PC.Name }

// readsFileOffsets reports whether the running kernel reads @+OFFSET correctly at a return. If
// the kernel's release is unknown, it returns false.
func readsFileOffsets() bool {
	r, err := proc.Live.Release()
	return err == nil && r.Since(6, 18)
}
