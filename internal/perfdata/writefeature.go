package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxFeatures is how many features the header has bits for.
const maxFeatures = 256

// Bits of a build id's misc field.
const (
	buildIDHasSize = 1 << 15 // PERF_RECORD_MISC_BUILD_ID_SIZE
	longestBuildID = 20      // bytes
)

// writtenAttr is the size of attributes in recordings that a Writer writes.
const writtenAttr = unix.PERF_ATTR_SIZE_VER5

// attrBytes returns an attribute as it is written.
func attrBytes(attr *unix.PerfEventAttr) []byte {
	a := *attr
	a.Size = writtenAttr
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&a)), writtenAttr))
}

// infoFeatures returns the features that describe the machine, the run and its events.
func infoFeatures(info *Info, events []Event) map[int][]byte {
	features := map[int][]byte{featureEventDesc: eventDesc(events)}
	for number, text := range map[int]string{featureHostname: info.Hostname, featureRelease: info.Release,
		featureVersion: info.PerfVersion, featureArch: info.Arch, featureCPUDesc: info.CPUDesc} {
		if text != "" {
			features[number] = appendText(nil, text)
		}
	}
	if info.CPUs > 0 {
		b := binary.LittleEndian.AppendUint32(nil, uint32(max(info.PossibleCPUs, info.CPUs)))
		features[featureCPUs] = binary.LittleEndian.AppendUint32(b, uint32(info.CPUs))
	}
	if info.TotalMemory > 0 {
		features[featureTotalMemory] = appendWords(nil, info.TotalMemory)
	}
	if len(info.Command) > 0 {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(info.Command)))
		for _, arg := range info.Command {
			b = appendText(b, arg)
		}
		features[featureCommand] = b
	}
	if info.ClockResolution > 0 {
		features[featureClockID] = appendWords(nil, info.ClockResolution)
	}
	if info.Wall != 0 {
		const version = 1
		b := binary.LittleEndian.AppendUint32(nil, version)
		b = binary.LittleEndian.AppendUint32(b, uint32(events[0].Attr.Clockid))
		features[featureClockData] = appendWords(b, info.Wall, info.ClockTime)
	}
	return features
}

// eventDesc returns HEADER_EVENT_DESC.
func eventDesc(events []Event) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(events)))
	b = binary.LittleEndian.AppendUint32(b, writtenAttr)
	for i := range events {
		b = append(b, attrBytes(&events[i].Attr)...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(events[i].IDs)))
		b = appendText(b, events[i].Name)
		b = appendWords(b, events[i].IDs...)
	}
	return b
}

// features returns the features that s describes.
func (s *Sections) features() (map[int][]byte, error) {
	features := make(map[int][]byte)
	for number, body := range s.Other {
		switch number {
		case featureTracingData, featureBuildID, featureHostname, featureRelease, featureVersion, featureArch, featureCPUs,
			featureCPUDesc, featureTotalMemory, featureCommand, featureEventDesc, featureSampleTime, featureClockID,
			featureDirectory, featureCompressed, featureClockData, featureSymbols:
			return nil, fmt.Errorf("feature %d is not one of the caller's", number)
		}
		if number <= 0 || number >= maxFeatures {
			return nil, fmt.Errorf("there is no feature %d", number)
		}
		features[number] = body
	}
	if len(s.Symbols) > 0 {
		features[featureSymbols] = symbolTables(s.Symbols)
	}
	var b []byte
	for i := range s.BuildIDs {
		entry, err := buildIDEntry(&s.BuildIDs[i])
		if err != nil {
			return nil, fmt.Errorf("build id of %s: %w", s.BuildIDs[i].Filename, err)
		}
		b = append(b, entry...)
	}
	if len(b) > 0 {
		features[featureBuildID] = b
	}
	return features, nil
}

// buildIDEntry returns a struct perf_record_header_build_id.
func buildIDEntry(id *BuildID) ([]byte, error) {
	if len(id.ID) > longestBuildID {
		return nil, fmt.Errorf("%d bytes are more than %d", len(id.ID), longestBuildID)
	}
	body := binary.LittleEndian.AppendUint32(nil, uint32(id.PID))
	body = append(body, id.ID...)
	body = append(body, make([]byte, longestBuildID-len(id.ID))...)
	body = append(body, byte(len(id.ID)), 0, 0, 0)
	body = append(append(body, id.Filename...), 0)
	b := pad8(append(make([]byte, headerSize), body...))
	if len(b) > maxRecord {
		return nil, errTooLong
	}
	misc := uint16(buildIDHasSize | unix.PERF_RECORD_MISC_USER)
	if id.Kernel {
		misc = buildIDHasSize | unix.PERF_RECORD_MISC_KERNEL
	}
	putHeader(b, 0, misc)
	return b, nil
}

// maxRecord is the size of the longest record, bytes: its 16 bit size is a multiple of 8.
const maxRecord = 1<<16 - 8

var errTooLong = errors.New("it does not fit into a record of 64 KiB")

// putHeader writes the header of the record that fills b.
func putHeader(b []byte, kind uint32, misc uint16) {
	binary.LittleEndian.PutUint32(b, kind)
	binary.LittleEndian.PutUint16(b[4:], misc)
	binary.LittleEndian.PutUint16(b[6:], uint16(len(b)))
}

// appendRecord appends a record whose parts are together at most maxRecord-8 bytes long.
func appendRecord(b []byte, kind uint32, parts ...[]byte) []byte {
	at := len(b)
	b = append(b, make([]byte, headerSize)...)
	for _, part := range parts {
		b = append(b, part...)
	}
	for (len(b)-at)%8 != 0 {
		b = append(b, 0)
	}
	putHeader(b[at:], kind, 0)
	return b
}

// featureRecord returns a HEADER_FEATURE record. body has at most maxRecord-16 bytes.
func featureRecord(number int, body []byte) []byte {
	return appendRecord(nil, recordFeature, appendWords(nil, uint64(number)), body)
}

// appendText appends a string: its 32 bit size, and its bytes with zeros up to a multiple of 8.
func appendText(b []byte, s string) []byte {
	size := (4+len(s)+1+7)&^7 - 4
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = append(b, s...)
	return append(b, make([]byte, size-len(s))...)
}

func appendWords(b []byte, words ...uint64) []byte {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// pad8 appends zeros up to a multiple of 8 bytes.
func pad8(b []byte) []byte { return append(b, make([]byte, -len(b)&7)...) }
