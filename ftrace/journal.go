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

// The journal of Settings notes what settings of tracefs were before they were
// changed, so that another process can put them back if this one is killed.
//
// It is kept in tracefs itself: as marks (trace_marker) in the trace buffer of an
// instance of the process's own. A file in /run would be the usual place, and a
// worse one. It would have to be made so that nobody can put a link or a file of
// his own there. It would outlive the settings over a reboot on hosts whose /run
// is no tmpfs. It would be another file in every container, while tracefs is one
// and the same for all: a ringtap in a container that is killed together with its
// /run could never be put right from the host. And it would need a rule of its
// own for who owns it, while an instance has one already: the journal is what a
// dead ringtap's instance holds, and who removes the instance reads it first.
//
// The marks stay until they have been acted upon: they are read from the file
// trace, which takes nothing away, and vanish with the instance.
//
// A mark is one line:
//
//	ringtap-journal SEQUENCE PART/PARTS KIND NAME "TEXT"
//
// KIND is "before", written before the setting is changed the first time, or
// "now", what it was found to be after a change. TEXT is quoted as Go does.
const journalMark = "ringtap-journal "

// journalPart is how much text a mark holds, so that it fits the 1024 bytes that
// trace_marker takes at once however many of them are escaped.
const journalPart = 200

// maxParts bounds a text: the names of all functions of a kernel fit.
const maxParts = 1 << 14

// journal is where notes are written. It has a few kilobytes for each CPU unless
// more is needed.
type journal struct {
	*Instance
	size     int // bytes written
	capacity int // KiB for each CPU
	sequence int
}

// note is what a journal holds about a setting.
type note struct {
	name   string
	before string
	now    string // what it was made; "" if that is not known
}

// openJournal makes an empty journal.
func (t *FS) openJournal() (*journal, error) {
	instance, err := t.NewInstance()
	if err != nil {
		return nil, err
	}
	j := &journal{Instance: instance}
	// An instance inherits the options of tracefs. Lines without their context
	// are shorter; what is full must say so and not forget.
	for _, option := range [][2]string{{"markers", "1"}, {"overwrite", "0"}, {"context-info", "0"},
		{"raw", "0"}, {"hex", "0"}, {"bin", "0"}, {"stacktrace", "0"}, {"userstacktrace", "0"}} {
		if !instance.fs.Has("options/" + option[0]) {
			continue // in another kernel it has another name
		}
		if err := instance.Write("options/"+option[0], option[1]); err != nil {
			j.Close()
			return nil, err
		}
	}
	return j, nil
}

// write notes a text and makes sure that it is there.
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

// readJournal reads the notes in an instance's trace buffer, in the order in
// which settings were changed. An instance without a journal has none; its trace,
// which may be long, is not read.
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

// parseJournal reads notes out of the text of a trace. A note that is not whole
// is passed over: its writer was killed before it changed anything.
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
