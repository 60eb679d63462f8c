package annotate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/object/disasm"
	"github.com/ringtap/ringtap/symbols"
)

// Listing is a function's code with the samples in it. Strings are raw: Write escapes them.
type Listing struct {
	Function string // demangled, with the parameters of C++
	Object   string // path of the file, as the recorded process saw it
	Event    string
	Samples  Count // of the function
	All      Count // of the event
	Code     []Instruction
	// Lines are the source lines with samples, the hottest first. A line that is inlined at several
	// places is one, without Inlined.
	Lines []SourceLine

	// Others are the hottest other functions that may be shown. SameName says that they have the
	// name that was asked for.
	Others   []string
	SameName bool
	// Closed are the hotter functions that would have been shown if their code could be read.
	Closed []string
	// Events are the other events with samples in the function.
	Events []string
	// Outside is how many samples have the function's name, but are not in its code. Symbols may
	// overlap.
	Outside uint64
	// Changed are source files whose text is not known, because they changed after the recording.
	Changed []string
}

// Instruction is an instruction with its samples.
type Instruction struct {
	disasm.Inst
	Count
	Source   *SourceLine // the innermost inlined function's; nil without debug information
	JumpedTo bool        // by a jump of the same function
}

// SourceLine is a line of a source file, with the samples of its instructions.
type SourceLine struct {
	Count
	Place
	Text string // without the space around it; "" if it is unknown
	// Inlined are the names of the inlined functions that the line is in, the innermost first, and
	// Call is the place where the function itself calls the outermost one.
	Inlined []string
	Call    Place
}

// Place is a line of a source file.
type Place struct {
	File string // "" if it is unknown
	Line int    // from 1; 0 if unknown
}

// listing makes the listing of the chosen function.
func (f *functions) listing() (*Listing, error) {
	c, err := f.choose()
	if err != nil {
		return nil, err
	}
	if err := f.check(c.function); err != nil {
		return nil, err
	}
	o := f.opts
	l := &Listing{Function: c.fullName(), Object: c.object.Path, Event: o.Events[c.event].Name,
		Samples: c.counts[c.event], All: f.totals[c.event], SameName: c.named, Closed: names(c.closed)}
	if c.named {
		l.Others = fullNames(c.others)
	} else {
		shown := c.shortName()
		l.Others = names(slices.DeleteFunc(c.others, func(fn *function) bool { return fn.shortName() == shown }))
	}
	for i := range o.Events {
		if i != c.event && c.counts[i].Samples > 0 {
			l.Events = append(l.Events, o.Events[i].Name)
		}
	}
	code, err := f.code(c.function)
	if err == nil && !disasm.CanDecode(code.machine) {
		err = fmt.Errorf("ringtap does not decode code of %v", code.machine)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot annotate %s of %s: %w", c.name, c.object.Path, err)
	}
	l.decode(code, o.Syntax)
	l.count(code, c)
	from := sources{symfs: o.Symfs, made: o.Made}
	l.addLines(code, &from)
	l.Changed = from.changed
	return l, nil
}

// decode adds the instructions.
func (l *Listing) decode(from *code, syntax disasm.Syntax) {
	d := disasm.Decoder{Machine: from.machine, Syntax: syntax, Name: from.name}
	for _, inst := range d.Function(from.bytes, from.address) {
		l.Code = append(l.Code, Instruction{Inst: inst})
	}
	for i := range l.Code {
		if inst := &l.Code[i]; inst.Jumps {
			if to := l.index(inst.Target); to >= 0 {
				l.Code[to].JumpedTo = true
			}
		}
	}
}

// count adds the samples.
func (l *Listing) count(from *code, c choice) {
	for p, count := range c.places {
		if p.event != c.event {
			continue
		}
		if i := l.index(from.address + p.frame.Offset - c.start); i >= 0 {
			l.Code[i].add(count)
		} else {
			l.Outside += count.Samples
		}
	}
}

// index returns the index of the instruction that has a byte at an address, or -1.
func (l *Listing) index(address uint64) int {
	i, exact := slices.BinarySearchFunc(l.Code, address, func(inst Instruction, at uint64) int { return cmp.Compare(inst.Address, at) })
	if exact {
		return i
	}
	if i == 0 || address >= l.Code[i-1].Address+uint64(l.Code[i-1].Len) {
		return -1
	}
	return i - 1
}

// addLines adds the source lines of the instructions.
func (l *Listing) addLines(code *code, from *sources) {
	byPlace := make(map[string]*SourceLine) // one for each place and chain of calls
	for i := range l.Code {
		inst := &l.Code[i]
		lines := code.lines(inst.Address)
		if len(lines) == 0 || lines[0].Line == 0 {
			continue
		}
		place := fmt.Sprint(lines)
		s := byPlace[place]
		if s == nil {
			s = &SourceLine{Place: Place{lines[0].File, lines[0].Line}}
			s.Text = from.line(s.Place)
			for level, caller := range lines[1:] {
				s.Inlined = append(s.Inlined, symbols.DemangleShort(lines[level].Function))
				s.Call = Place{caller.File, caller.Line}
			}
			byPlace[place] = s
		}
		s.add(inst.Count)
		inst.Source = s
	}
	l.Lines = hotLines(byPlace)
}

// hotLines returns the lines with samples, the hottest first. A line that is inlined at several
// places is one.
func hotLines(byPlace map[string]*SourceLine) []SourceLine {
	sums := make(map[Place]*SourceLine)
	for _, s := range byPlace {
		sum := sums[s.Place]
		if sum == nil {
			sum = &SourceLine{Place: s.Place, Text: s.Text}
			sums[s.Place] = sum
		}
		sum.add(s.Count)
	}
	var hot []SourceLine
	for _, sum := range sums {
		if sum.Samples > 0 {
			hot = append(hot, *sum)
		}
	}
	slices.SortFunc(hot, func(a, b SourceLine) int {
		return cmp.Or(cmp.Compare(b.Period, a.Period), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return hot
}

// Notes returns sentences that the reader of a listing must know.
func (l *Listing) Notes() (notes []string) {
	others := strings.Join(l.Others, ", ")
	switch {
	case others == "":
	case l.SameName:
		notes = append(notes, "the hottest function of that name is shown; others: "+others)
	default:
		notes = append(notes, "the hottest function is shown; ringtap annotate NAME shows another: "+others)
	}
	if len(l.Closed) > 0 {
		notes = append(notes, "hotter, but their code cannot be read: "+strings.Join(l.Closed, ", "))
	}
	if len(l.Events) > 0 {
		notes = append(notes, fmt.Sprintf("the function also has samples of %s: --metric selects an event", strings.Join(l.Events, ", ")))
	}
	if l.Outside > 0 {
		notes = append(notes, fmt.Sprintf("%d samples of the function are outside of the code that its symbol has", l.Outside))
	}
	if len(l.Lines) == 0 {
		notes = append(notes, "no source lines: there is no debug information of this function")
	}
	if len(l.Changed) > 0 {
		notes = append(notes, "changed after the recording, so not shown: "+strings.Join(l.Changed, ", "))
	}
	return notes
}
