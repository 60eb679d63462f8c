package session

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/script/syntax"
)

// settings are what environment variables set, as bpftrace takes them: each setting of a config
// block by its name in capitals behind BPFTRACE_, and the names that 0.17 had for some.
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
			continue // the others mean nothing without BPF
		}
		if ours {
			pos := syntax.Pos{File: "BPFTRACE_" + name, Line: 1, Col: 1}
			all = append(all, syntax.Setting{Pos: pos, Name: setting, Value: settingValue(pos, value)})
		}
	}
	return all
}

// variable returns an environment variable, "" if it is not set.
func variable(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// settingValue is a value as a config block would have it.
func settingValue(pos syntax.Pos, text string) syntax.Expr {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return &syntax.Int{Pos: pos, Value: n, Text: text}
	}
	return &syntax.Str{Pos: pos, Value: text}
}
