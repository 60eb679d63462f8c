package goroutine

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// buildInfoMagic starts the record of how a program was built. The record's address is a
// multiple of 16 (cmd/link/internal/ld/data.go, debug/buildinfo).
var buildInfoMagic = []byte("\xff Go buildinf:")

const (
	buildInfoHead  = 32      // bytes before the version
	buildInfoFlags = 15      // offset of the flags byte
	inlineStrings  = 1 << 1  // flag: the strings follow (from Go 1.18 on)
	maxVersion     = 128     // bytes of a version
	maxBuildInfo   = 1 << 16 // bytes of a segment to search
)

// buildInfo returns the version of Go that built a file. found is false if there is no such
// record. version is "" if the record is older than Go 1.18.
func buildInfo(m *elfimage.Image) (version string, found bool) {
	if s, ok := m.Section(".go.buildinfo"); ok {
		if b, err := m.Read(s.Offset, min(s.Size, maxBuildInfo), maxBuildInfo); err == nil {
			return parseBuildInfo(b)
		}
	}
	for i := range m.Segments {
		s := &m.Segments[i]
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_W == 0 {
			continue
		}
		b, err := m.Read(s.Off, min(s.Filesz, maxBuildInfo), maxBuildInfo)
		if err != nil {
			continue
		}
		for len(b) >= buildInfoHead {
			if version, found := parseBuildInfo(b); found {
				return version, true
			}
			b = b[16:]
		}
	}
	return "", false
}

// parseBuildInfo decodes the record at the start of b.
func parseBuildInfo(b []byte) (version string, found bool) {
	if len(b) < buildInfoHead || !bytes.HasPrefix(b, buildInfoMagic) {
		return "", false
	}
	if b[buildInfoFlags]&inlineStrings == 0 {
		return "", true
	}
	b = b[buildInfoHead:]
	n, used := binary.Uvarint(b)
	if used <= 0 || n > maxVersion || n > uint64(len(b)-used) {
		return "", true
	}
	return string(b[used : used+int(n)]), true
}
