package kprobe

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"runtime"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/escape"
)

const defaultSites = 1000

// Options say which kernel is examined and how sites are chosen. The zero value means the
// running kernel, with its type information if it has some.
type Options struct {
	// Force accepts a function that the kernel's lists exclude, and an offset where no
	// instruction seems to start. The kernel decides.
	Force    bool
	MaxSites int          // maximum number of sites for a definition; 0 means 1000
	Types    Types        // nil: KernelTypes(Root)
	Root     string       // directory that contains /proc, /sys and /lib/modules; "" means "/"
	Logger   *slog.Logger // may be nil
}

func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// Resolve finds the instructions that a definition means. It reads files and defines nothing.
//
// The error is a *SymbolError, *BlacklistedError, *PlaceError, *TooManyError or
// ErrAddressesHidden. For an argument, it is a *ftrace.SyntaxError that points at it.
func Resolve(d *Definition, o Options) (*Plan, error) { return resolve(d, o, runtime.GOARCH) }

func resolve(d *Definition, o Options, arch string) (*Plan, error) {
	if o.MaxSites == 0 {
		o.MaxSites = defaultSites
	}
	if o.Types == nil {
		o.Types = KernelTypes(o.Root)
	}
	o.Logger = o.logger()
	// For perf-tools, "p:vfs_read count" is an alias before a function, and "p:vfs_read *pos"
	// an alias before a pattern. If there is no such function, but one with the name of the
	// alias, the first word is the function.
	if dereference.MatchString(d.Symbol) {
		if plan, err, ok := asFunction(d, o, arch); ok {
			return plan, err
		}
		return resolveOnce(d, o, arch)
	}
	plan, err := resolveOnce(d, o, arch)
	if missing := (*SymbolError)(nil); errors.As(err, &missing) && d.Alias != "" {
		if plan, err, ok := asFunction(d, o, arch); ok {
			return plan, err
		}
		missing.Alias = d.Alias
		missing.AliasNear = (&lookup{kernel: kernel{o.Root}, symbol: d.Alias, logger: o.Logger}).near()
	}
	return plan, err
}

// dereference matches a pattern that may also be a dereferenced parameter.
var dereference = regexp.MustCompile(`^\*[A-Za-z_][A-Za-z0-9_.]*$`)

// asFunction resolves a definition with its alias as the function. ok is false if the kernel
// has no such function.
func asFunction(d *Definition, o Options, arch string) (plan *Plan, err error, ok bool) {
	if d.Alias == "" {
		return nil, nil, false
	}
	if functions, err := Functions(d.Alias, o); err != nil || len(functions) == 0 {
		return nil, nil, false
	}
	if d, err = parse(d.Text, true); err != nil {
		return nil, err, true
	}
	plan, err = resolveOnce(d, o, arch)
	return plan, err, true
}

func resolveOnce(d *Definition, o Options, arch string) (*Plan, error) {
	r := &resolver{definition: d, options: o, arch: arch, plan: &Plan{Definition: d}}
	err := r.resolve()
	if err == nil {
		err = r.limit(len(r.plan.Sites))
	}
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(r.plan.Sites))
	for i := range r.plan.Sites {
		site := &r.plan.Sites[i]
		site.Event = ftrace.FreeEventName(site.Event, names)
	}
	return r.plan, nil
}

type resolver struct {
	definition *Definition
	options    Options
	arch       string
	lookup     *lookup
	plan       *Plan
	refused    []section // the kernel's blacklist
	variables  []string  // kernel variables that were found
}

func (r *resolver) resolve() error {
	d := r.definition
	r.lookup = &lookup{
		kernel: kernel{r.options.Root}, module: moduleName(d.Module), symbol: d.Symbol, pattern: d.Pattern, address: d.Address,
		all: d.Offset > 0 || d.Address != 0, logger: r.options.Logger,
	}
	err := r.lookup.read()
	if errors.Is(err, fs.ErrNotExist) {
		return r.unlisted()
	}
	if err != nil {
		return fmt.Errorf("look for %s: %w", d.Symbol, err)
	}
	if r.refused, err = r.lookup.kernel.blacklist(); err != nil {
		r.options.Logger.Debug("the kernel's blacklist of probes can't be read", "error", err)
	}
	if d.Address != 0 {
		return r.address()
	}
	functions := r.lookup.functions()
	if len(functions) == 0 {
		return r.lookup.missing()
	}
	if d.Pattern {
		return r.several(functions)
	}
	return r.one(functions)
}

// unlisted accepts the definition unchecked if the kernel has no list of its functions
// (CONFIG_KALLSYMS).
func (r *resolver) unlisted() error {
	d := r.definition
	if d.Pattern {
		return errors.New("this kernel has no /proc/kallsyms (CONFIG_KALLSYMS), so ringtap cannot tell which functions match " + escape.Text(d.Symbol))
	}
	r.note("this kernel has no /proc/kallsyms (CONFIG_KALLSYMS): ringtap cannot look up %s", d.Symbol)
	return r.add(Function{Name: d.Symbol, Module: d.Module}, d.Offset, d.Address)
}

// one adds the sites of the functions of one name; usually there is one.
func (r *resolver) one(functions []Function) error {
	d := r.definition
	usable, err := r.usable(functions)
	if err != nil {
		return err
	}
	if n := len(usable); n > 1 {
		r.note("the kernel has %d functions called %s; all are probed", n, d.Symbol)
	}
	for i := range usable {
		if err := r.checkOffset(&usable[i], d.Offset); err != nil {
			return err
		}
		if err := r.add(usable[i], d.Offset, 0); err != nil {
			return err
		}
	}
	r.explain(&usable[0])
	return r.ambiguous()
}

// several adds the sites of the functions that match a pattern.
func (r *resolver) several(functions []Function) error {
	usable, err := r.usable(functions)
	if err == nil {
		err = r.limit(len(usable))
	}
	for i := 0; err == nil && i < len(usable); i++ {
		err = r.add(usable[i], 0, 0)
	}
	if err != nil {
		return err
	}
	return r.ambiguous()
}

// usable returns the functions that can be probed. The others are left out and counted in a
// note; if none is usable, that is an error.
func (r *resolver) usable(functions []Function) ([]Function, error) {
	var usable []Function
	var first error
	for i := range functions {
		if err := r.probeable(&functions[i]); err == nil {
			usable = append(usable, functions[i])
		} else if first == nil {
			first = err
		}
	}
	if len(usable) == 0 {
		return nil, first
	}
	if left := len(functions) - len(usable); left > 0 {
		r.note("left out %d of the %d functions that %s matches: they cannot be probed", left, len(functions), r.definition.Symbol)
	}
	return usable, nil
}

// ambiguous changes sites to addresses if their name is ambiguous. If several symbols (also
// variables) have the same name, the kernel takes the first or, since 6.6 (in stable kernels
// since 6.1.61), none. A function of a module is named with its module, so only symbols of that
// module count.
func (r *resolver) ambiguous() error {
	count := map[string]int{}
	inModule := map[string]int{}
	for i := range r.lookup.table.found {
		f := &r.lookup.table.found[i].Function
		count[f.Name]++
		inModule[f.String()]++
	}
	for i := range r.plan.Sites {
		s := &r.plan.Sites[i]
		if s.Function.Module == "" && count[s.Function.Name] < 2 || s.Function.Module != "" && inModule[s.Function.String()] < 2 {
			continue
		}
		if s.Address == 0 {
			return fmt.Errorf("there are %d symbols named %s, and only addresses distinguish them: %w", count[s.Function.Name], s.Function.Name, ErrAddressesHidden)
		}
		s.Symbol = ""
		r.plan.text = r.lookup.table.sections["text"].start
	}
	return nil
}

func (r *resolver) limit(n int) error {
	if n > r.options.MaxSites {
		return &TooManyError{Definition: r.definition.Text, Count: n, Max: r.options.MaxSites}
	}
	return nil
}

func (r *resolver) add(f Function, offset, address uint64) error {
	d := r.definition
	s := Site{Symbol: f.String(), Offset: offset, Address: address, Function: f, Return: d.Kind == Return}
	if address == 0 && f.Address != 0 {
		s.Address = f.Address + offset
	}
	if d.Address != 0 || f.Name == "" {
		s.Symbol = ""
	}
	var err error
	if s.Args, err = r.args(f, offset == 0 && f.Name != ""); err != nil {
		return err
	}
	switch {
	case d.Alias != "":
		s.Event = d.Alias
	case f.Name == "":
		s.Event = fmt.Sprintf("%c_%#x", d.Kind, address)
	case offset > 0:
		s.Event = ftrace.EventIdentifier(fmt.Sprintf("%s_%#x", f.Name, offset))
	default:
		s.Event = ftrace.EventIdentifier(f.Name)
	}
	r.plan.Sites = append(r.plan.Sites, s)
	return nil
}

// note adds a note unless the plan already has it.
func (r *resolver) note(format string, args ...any) {
	if text := escape.Text(fmt.Sprintf(format, args...)); !slices.Contains(r.plan.Notes, text) {
		r.plan.Notes = append(r.plan.Notes, text)
	}
}
