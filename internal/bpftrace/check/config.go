package check

import (
	"math"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/text/match"
)

// Config holds the settings of the config block. Settings that have no meaning without BPF are
// accepted and ignored.
type Config struct {
	MaxStrlen     int    // bytes of a string, with its terminating zero
	MaxMapKeys    int    // 0 for no limit
	MaxCatBytes   int    // that cat() prints
	stackMode     string // bpftrace, perf, raw or build_id
	StrTrailer    string // printed after a string that was cut short
	PrintMaps     bool   // print all maps on exit
	ShowDebugInfo bool   // print user stacks with source lines and inlined calls
	CppDemangle   bool   // print C++ names as in the source
	lazySymbols   bool
	MissingProbes string // error, warn or ignore
}

func defaults() Config {
	return Config{
		MaxStrlen: 1024, MaxCatBytes: 10240, stackMode: "bpftrace", StrTrailer: "..",
		PrintMaps: true, CppDemangle: true, MissingProbes: "warn",
	}
}

// ignoredSettings are accepted but have no effect.
var ignoredSettings = []string{
	"cache_user_symbols", "license", "log_size", "max_bpf_progs", "max_probes", "on_stack_limit",
	"perf_rb_pages", "unstable_tseries", "unstable_dw_ustack", "unstable_map_decl", "unstable_import",
	"unstable_macro", "unstable_addr", "max_ast_nodes", "max_type_res_iterations", "vmlinux", "btf",
	"verify_llvm_ir", "use_blazesym", "unstable_typeinfo", "max_strlen_bytes",
}

var settingNames = []string{
	"max_strlen", "max_map_keys", "max_cat_bytes", "stack_mode", "str_trunc_trailer",
	"print_maps_on_exit", "show_debug_info", "cpp_demangle", "lazy_symbolication", "missing_probes",
	"dialect",
}

// stackModes are the ways to print a stack.
var stackModes = []string{"bpftrace", "perf", "raw", "build_id"}

func (c *checker) config(settings []syntax.Setting) {
	for _, s := range settings {
		g := &c.prog.Config
		switch s.Name {
		case "max_strlen":
			g.MaxStrlen = c.settingInt(s, 1, 1<<20)
		case "max_map_keys":
			g.MaxMapKeys = c.settingInt(s, 1, math.MaxInt32)
		case "max_cat_bytes":
			g.MaxCatBytes = c.settingInt(s, 1, math.MaxInt32)
		case "stack_mode":
			g.stackMode = c.settingWord(s, stackModes...)
		case "str_trunc_trailer":
			g.StrTrailer = settingText(s)
		case "print_maps_on_exit":
			g.PrintMaps = c.settingBool(s)
		case "show_debug_info":
			g.ShowDebugInfo = c.settingBool(s)
		case "cpp_demangle":
			g.CppDemangle = c.settingBool(s)
		case "no_cpp_demangle": // set by an environment variable of 0.17
			g.CppDemangle = !c.settingBool(s)
		case "lazy_symbolication":
			g.lazySymbols = c.settingBool(s)
		case "missing_probes":
			g.MissingProbes = c.settingWord(s, "error", "warn", "ignore")
		case "dialect":
			if _, ok := show.Find(settingText(s)); !ok { // the caller has picked the dialect
				c.errorf(s.Pos, "there is no dialect %q", settingText(s))
			}
		default:
			if !contains(ignoredSettings, s.Name) {
				c.hintf(s.Pos, nearest(s.Name, settingNames, ignoredSettings), "no setting is named %s", s.Name)
			}
		}
	}
}

func contains(list []string, name string) bool {
	for _, n := range list {
		if n == name {
			return true
		}
	}
	return false
}

// nearest returns a hint with the names that resemble name, or "" if none does.
func nearest(name string, lists ...[]string) string {
	n := match.NewNearest(name, max(1, len(name)/3), 3, match.ShortestFirst)
	for _, list := range lists {
		for _, s := range list {
			n.Add(s)
		}
	}
	found := n.Names()
	if len(found) == 0 {
		found = exchanged(name, lists)
	}
	if len(found) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(found, " or ") + "?"
}

// exchanged returns the names that differ from name only by two swapped letters. These count as two
// edits, which may be too many for nearest.
func exchanged(name string, lists [][]string) (found []string) {
	for i := range len(name) - 1 {
		other := name[:i] + name[i+1:i+2] + name[i:i+1] + name[i+2:]
		if slices.ContainsFunc(lists, func(list []string) bool { return slices.Contains(list, other) }) {
			found = append(found, other)
		}
	}
	return found
}

func settingText(s syntax.Setting) string {
	switch v := s.Value.(type) {
	case *syntax.Str:
		return v.Value
	case *syntax.Ident:
		return v.Name
	case *syntax.Int:
		return v.Text
	}
	return ""
}

func (c *checker) settingInt(s syntax.Setting, low, high int) int {
	v, ok := s.Value.(*syntax.Int)
	if !ok || v.Negative || v.Value < uint64(low) || v.Value > uint64(high) {
		c.errorf(s.Pos, "%s is a number from %d to %d", s.Name, low, high)
		return low
	}
	return int(v.Value)
}

func (c *checker) settingBool(s syntax.Setting) bool {
	switch v := s.Value.(type) {
	case *syntax.Bool:
		return v.Value
	case *syntax.Int:
		if v.Value <= 1 {
			return v.Value == 1
		}
	}
	switch settingText(s) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	c.errorf(s.Pos, "%s is true or false", s.Name)
	return false
}

func (c *checker) settingWord(s syntax.Setting, words ...string) string {
	text := settingText(s)
	if !contains(words, text) {
		c.errorf(s.Pos, "%s is one of %s", s.Name, strings.Join(words, ", "))
	}
	return text
}

// mapKinds are the kinds of maps that a declaration may name.
var mapKinds = []string{"hash", "lruhash", "percpuhash", "percpulruhash", "percpuarray", "array"}

func (c *checker) declareMaps(decls []*syntax.MapDecl) {
	for _, d := range decls {
		if c.maps[d.Name] != nil {
			c.errorf(d.Pos, "%s is declared twice", d.Name)
			continue
		}
		m := c.newMap(d.Pos, d.Name)
		m.idle = true
		if !contains(mapKinds, d.Kind) {
			c.hintf(d.Pos, nearest(d.Kind, mapKinds), "no kind of map is named %s", d.Kind)
		}
		m.LRU = strings.Contains(d.Kind, "lru")
		if size, ok := d.Size.(*syntax.Int); ok && !size.Negative && size.Value > 0 && size.Value <= math.MaxInt32 {
			m.MaxKeys = int(size.Value)
		} else if d.Size != nil {
			c.errorf(d.Size.Position(), "the size of a map is a number from 1 to %d", math.MaxInt32)
		}
	}
}

// DialectOf returns the language version that goes with an output dialect.
func DialectOf(d show.Dialect) Dialect {
	switch d.Name {
	case show.Debian().Name:
		return V017
	case show.Current().Name:
		return Current
	}
	return Default
}
