package ftrace

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The journal of Settings records the values of tracefs settings before they are changed, so
// that another process can restore them if this one is killed.
//
// It is kept in tracefs itself: as marks (trace_marker) in the trace buffer of an instance that
// the process creates. The usual place would be a file in /run, but that is worse:
//
//   - It must be created so that nobody can plant a link or a file.
//   - If /run is no tmpfs, it would outlive a reboot, and the settings would not.
//   - Each container has its own /run, but all share one tracefs. If a ringtap and its container
//     are killed together with that /run, the host could never restore the settings.
//   - It would need its own ownership rule. An instance has one: the journal is in a dead
//     ringtap's instance, and the process that removes the instance reads it first.
//
// The marks stay until the settings are restored: reading the file trace does not consume them,
// and they vanish with the instance.
//
// A mark is one line:
//
//	ringtap-journal SEQUENCE PART/PARTS KIND NAME "TEXT"
//
// KIND is "before", written before the setting is changed for the first time, or "now", the
// value read back after a change. TEXT is quoted in Go syntax.
const journalMark = "ringtap-journal "

// journalPart is how many bytes of text a mark holds. Even if all of them are escaped, the mark
// fits the 1024 bytes that trace_marker accepts per write.
const journalPart = 200

// maxParts is the largest number of parts of one text. The names of all functions of a kernel fit.
const maxParts = 1 << 14

// journal is the trace instance whose buffer holds the notes about changed settings: see
// journalMark. The buffer starts with a few kilobytes for each CPU, and grows if necessary.
type journal struct {
	*Instance
	size     int // bytes written
	capacity int // KiB for each CPU
	sequence int
}

// note has the values of one setting, before and after it was changed.
type note struct {
	name   string
	before string
	now    string // the value after the last change; "" if unknown
}

func (t *FS) openJournal() (*journal, error) {
	instance, err := t.NewInstance()
	if err != nil {
		return nil, err
	}
	j := &journal{Instance: instance}
	// An instance inherits the options of tracefs. Lines without context are shorter. If the
	// buffer is full, writing must fail instead of overwriting.
	for _, option := range [][2]string{{"markers", "1"}, {"overwrite", "0"}, {"context-info", "0"},
		{"raw", "0"}, {"hex", "0"}, {"bin", "0"}, {"stacktrace", "0"}, {"userstacktrace", "0"}} {
		if !instance.fs.Has("options/" + option[0]) {
			continue // the option has another name in some kernels
		}
		if err := instance.Write("options/"+option[0], option[1]); err != nil {
			j.Close()
			return nil, err
		}
	}
	return j, nil
}

// write writes a text and verifies that it is in the buffer.
func (j *journal) write(kind, name, text string) error {
	parts := max(1, (len(text)+journalPart-1)/journalPart)
	if parts > maxParts {
		return fmt.Errorf("note what %s is: %d bytes are too many", name, len(text))
	}
	need := len(text) + parts*len(journalMark+name)*2
	if kib := 16 + (j.size+need)*4>>10; kib > j.capacity {
		if err := j.Write("buffer_size_kb", strconv.Itoa(2*kib)); err != nil {
			return fmt.Errorf("note what %s is: %w", name, err)
		}
		j.capacity = 2 * kib
	}
	j.size += need
	j.sequence++
	marker, err := os.OpenFile(filepath.Join(j.fs.dir, "trace_marker"), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("note what %s is: %w", name, err)
	}
	defer marker.Close()
	for part := range parts {
		piece := text[part*journalPart : min((part+1)*journalPart, len(text))]
		line := fmt.Sprintf("%s%d %d/%d %s %s %s\n", journalMark, j.sequence, part, parts, kind, name, strconv.QuoteToASCII(piece))
		if _, err := marker.WriteString(line); err != nil {
			return fmt.Errorf("note what %s is: %w", name, err)
		}
	}
	for _, n := range j.fs.readJournal() {
		if n.name == name && (kind == "before" && n.before == text || kind == "now" && n.now == text) {
			return nil
		}
	}
	return fmt.Errorf("note what %s is: the kernel's trace buffer did not keep it", name)
}

// readJournal reads the notes in an instance's trace buffer, in the order in which settings
// were changed. If the instance is no journal, its trace, which may be long, is not read.
func (t *FS) readJournal() []note {
	context, _ := t.read("options/context-info")
	tracer, _ := t.read("current_tracer")
	if context != "0" || tracer != "nop" {
		return nil
	}
	text, err := t.read("trace")
	if err != nil {
		return nil
	}
	return parseJournal(text)
}

// parseJournal parses the notes in the text of a trace. Incomplete notes are skipped: their
// writer was killed before it changed the setting.
func parseJournal(text string) []note {
	type entry struct {
		kind, name string
		parts      []string
		have       int
	}
	entries := map[int]*entry{}
	for line := range strings.Lines(text) {
		_, mark, ok := strings.Cut(strings.TrimRight(line, "\n"), journalMark)
		fields := strings.SplitN(mark, " ", 5)
		if !ok || len(fields) != 5 {
			continue
		}
		part, parts, _ := strings.Cut(fields[1], "/")
		sequence, err1 := strconv.Atoi(fields[0])
		at, err2 := strconv.Atoi(part)
		count, err3 := strconv.Atoi(parts)
		piece, err4 := strconv.Unquote(fields[4])
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil || at < 0 || at >= count || count > maxParts || !isSetting(fields[3]) {
			continue
		}
		e := entries[sequence]
		if e == nil {
			e = &entry{kind: fields[2], name: fields[3], parts: make([]string, count)}
			entries[sequence] = e
		}
		if len(e.parts) != count || e.kind != fields[2] || e.name != fields[3] {
			continue
		}
		e.parts[at] = piece
		e.have++
	}
	var notes []note
	for _, sequence := range slices.Sorted(maps.Keys(entries)) {
		e := entries[sequence]
		if e.have != len(e.parts) {
			continue
		}
		text := strings.Join(e.parts, "")
		if e.kind == "before" {
			notes = append(notes, note{name: e.name, before: text})
			continue
		}
		for i := range notes {
			if notes[i].name == e.name {
				notes[i].now = text
			}
		}
	}
	return notes
}
