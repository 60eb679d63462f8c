package ftrace

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// UserArgs translates arguments into the form that the kernel understands:
//
//   - $argN becomes the register or the stack word that holds the Nth integer or
//     pointer argument at the entry of a C function (System V psABI for amd64;
//     AAPCS64 for arm64; System V psABI for i386, all on the stack). Floating point
//     arguments are not counted.
//   - $stackN of a 32-bit program becomes the Nth 32-bit word of the stack.
//   - Assembler names of registers (%rdi, %edi, %dil; %w0) become the kernel's names. If a name
//     means a part of a register, only that part is printed, unless the argument has a type.
//   - On arm64, amd64's argument registers become the registers of the same arguments.
//
// arch is a name like runtime.GOARCH: amd64, arm64, or 386 for a 32-bit program on an amd64
// kernel. notes are messages about arguments that were interpreted differently from their text.
// The error says why an argument is not available; it is a *RegisterError for an unknown
// register.
func UserArgs(args []FetchArg, arch string, isReturn bool) (out []FetchArg, notes []string, err error) {
	return translateArgs(args, registers(arch), arch, isReturn)
}

func translateArgs(args []FetchArg, regs *registerSet, arch string, isReturn bool) (out []FetchArg, notes []string, err error) {
	if regs == nil {
		return nil, nil, fmt.Errorf("the registers of %s are not known", arch)
	}
	foreign := map[string]string{}
	for _, arg := range args {
		start, end := operand(arg.Fetch)
		source := arg.Fetch[start:end]
		translated := source
		if regs.short && strings.Count(arg.Fetch[:start], "(") > 1 {
			return nil, nil, fmt.Errorf("argument %s: %w", arg, errShort)
		}
		switch {
		case source == "$retval" && !isReturn:
			return nil, nil, fmt.Errorf("argument %s: $retval exists only when the function returns: use a return probe (r:)", arg)
		case strings.HasPrefix(source, "$arg"):
			if isReturn {
				return nil, nil, fmt.Errorf("argument %s: when the function returns, its arguments are gone: fetch %s with an entry probe (p:)", arg, source)
			}
			translated, err = regs.argument(source[len("$arg"):])
			if err != nil {
				return nil, nil, fmt.Errorf("argument %s: %w", arg, err)
			}
			err = regs.stackWord(&arg, translated, start > 0)
		case regs.short && stackNumber.MatchString(source):
			translated, err = regs.onStack(source[len("$stack"):])
			if err == nil {
				err = regs.stackWord(&arg, translated, start > 0)
			}
		case strings.HasPrefix(source, "%"):
			r, err := regs.find(source[1:], isReturn)
			if err != nil {
				return nil, nil, fmt.Errorf("argument %s: %w", arg, err)
			}
			translated = "%" + r.name
			if r.foreign {
				foreign[source] = translated
			}
			if note := r.part(&arg, source, start > 0); note != "" {
				notes = append(notes, note)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("argument %s: %w", arg, err)
		}
		arg.Fetch = arg.Fetch[:start] + translated + arg.Fetch[end:]
		out = append(out, arg)
	}
	if len(foreign) > 0 {
		notes = append(notes, foreignNote(foreign, arch))
	}
	return out, notes, nil
}

// operand returns the innermost value of a fetch, inside all offsets.
func operand(fetch string) (start, end int) {
	start, end = 0, len(fetch)
	for start < end && (fetch[start] == '+' || fetch[start] == '-') {
		open := strings.IndexByte(fetch[start:end], '(')
		shut := strings.LastIndexByte(fetch[start:end], ')')
		if open < 0 || shut < open {
			break
		}
		start, end = start+open+1, start+shut
	}
	return start, end
}

// foreignNote returns one note for all arguments about how register names were interpreted.
func foreignNote(foreign map[string]string, arch string) string {
	var names []string
	for from := range foreign {
		names = append(names, from)
	}
	slices.Sort(names)
	for i, from := range names {
		names[i] = from + " is " + foreign[from]
	}
	return fmt.Sprintf("these are amd64 registers; on %s ringtap used their equivalents: %s", arch, strings.Join(names, ", "))
}

// RegisterError is returned if the architecture has no register of that name.
type RegisterError struct {
	Name, Arch string
	Near       []string // similar names, best first
	All        []string // all names, in the kernel's spelling
}

func (e *RegisterError) Error() string {
	text := fmt.Sprintf("%s has no register %%%s", e.Arch, e.Name)
	if len(e.Near) > 0 {
		text += " (did you mean %" + strings.Join(e.Near, ", %") + "?)"
	}
	return text + "; there are %" + strings.Join(e.All, " %")
}

// argument returns where argument n is at a function's entry.
func (s *registerSet) argument(n string) (string, error) {
	number, err := strconv.ParseUint(n, 10, 32)
	if err != nil || number == 0 {
		return "", fmt.Errorf("there is no $arg%s", n)
	}
	arguments := s.C.Arguments
	if number <= uint64(len(arguments)) {
		return "%" + arguments[number-1].Name, nil
	}
	// The return address may be on the stack, too, before the arguments.
	word := strconv.FormatUint(number-uint64(len(arguments))-1+uint64(s.CallPushes/s.Word), 10)
	if s.short {
		return s.onStack(word)
	}
	return "$stack" + word, nil
}

var stackNumber = regexp.MustCompile(`^\$stack[0-9]+$`)

// onStack returns the fetch of the nth 32-bit word of the stack.
func (s *registerSet) onStack(n string) (string, error) {
	number, err := strconv.ParseUint(n, 10, 16)
	if err != nil {
		return "", fmt.Errorf("there is no $stack%s", n)
	}
	return fmt.Sprintf("+%d(%%sp)", 4*number), nil
}

// errShort is returned for dereferences in 32-bit programs.
var errShort = errors.New("the kernel reads pointers of 64 bits from memory, and those of a 32-bit program have 32: " +
	"only what a register points to can be fetched")

// stackWord sets the type of a stack word of a 32-bit program, unless the argument has one. It
// returns an error if the argument dereferences the word.
func (s *registerSet) stackWord(arg *FetchArg, place string, isAddress bool) error {
	switch {
	case !s.short || !strings.Contains(place, "("):
		return nil
	case isAddress:
		return errShort
	case arg.Type == "":
		arg.Type = "x32"
	}
	return nil
}
