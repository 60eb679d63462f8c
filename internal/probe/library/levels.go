package library

import (
	"debug/elf"
	"runtime"

	"golang.org/x/sys/cpu"
)

// levelsOf returns the glibc-hwcaps subdirectories that a machine's loader searches on this
// processor, best first. glibc has such levels for x86-64 (psABI section 3.1.1) and none for
// arm64. x/sys/cpu does not know all features (LZCNT, MOVBE, F16C; LAHF), but every processor
// with the other features of a level has them.
func levelsOf(machine elf.Machine) []string {
	if machine != elf.EM_X86_64 || runtime.GOARCH != "amd64" {
		return nil
	}
	x := &cpu.X86
	var levels []string
	v2 := x.HasCX16 && x.HasPOPCNT && x.HasSSE3 && x.HasSSSE3 && x.HasSSE41 && x.HasSSE42
	v3 := v2 && x.HasAVX && x.HasAVX2 && x.HasBMI1 && x.HasBMI2 && x.HasFMA && x.HasOSXSAVE
	v4 := v3 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512CD && x.HasAVX512DQ && x.HasAVX512VL
	for _, l := range []struct {
		has  bool
		name string
	}{{v4, "x86-64-v4"}, {v3, "x86-64-v3"}, {v2, "x86-64-v2"}} {
		if l.has {
			levels = append(levels, l.name)
		}
	}
	return levels
}
