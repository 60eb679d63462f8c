package session

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

// settings returns the settings in environment variables that bpftrace reads: BPFTRACE_ and a
// config setting in capitals. It also accepts 0.17's names for some of them.
func settings(environ []string) []syntax.Setting {
	var all []syntax.Setting
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		name, ours := strings.CutPrefix(name, "BPFTRACE_")
		setting := strings.ToLower(name)
		switch setting {
		case "strlen":
			setting = "max_strlen"
		case "map_keys_max":
			setting = "max_map_keys"
		case "cat_bytes_max":
			setting = "max_cat_bytes"
		case "max_strlen", "max_map_keys", "max_cat_bytes", "stack_mode", "str_trunc_trailer", "print_maps_on_exit",
			"show_debug_info", "cpp_demangle", "no_cpp_demangle", "lazy_symbolication", "missing_probes":
		default:
			continue // the others have no meaning without BPF
		}
		if ours {
			pos := syntax.Pos{File: "BPFTRACE_" + name, Line: 1, Col: 1}
			all = append(all, syntax.Setting{Pos: pos, Name: setting, Value: settingValue(pos, value)})
		}
	}
	return all
}

// variable returns the value of an environment variable, or "" if it is not set.
func variable(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// settingValue returns a value as it would be parsed in a config block.
func settingValue(pos syntax.Pos, text string) syntax.Expr {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return &syntax.Int{Pos: pos, Value: n, Text: text}
	}
	return &syntax.Str{Pos: pos, Value: text}
}
