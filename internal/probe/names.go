package probe

import "github.com/ringtap/ringtap/symbols"

// Names returns readable names of the Functions. C++ and Rust functions appear as in stacks
// (ns::f). If several functions of the set have the same name, it includes the parameter types.
func (s *Set) Names() []string {
	raw := make(map[string]string) // by name: the function with that name; "" if several have it
	names := make([]string, len(s.Functions))
	for i, function := range s.Functions {
		names[i] = symbols.Demangle(function)
		if first, known := raw[names[i]]; known && first != function {
			raw[names[i]] = ""
		} else if !known {
			raw[names[i]] = function
		}
	}
	for i, function := range s.Functions {
		if raw[names[i]] == "" && names[i] != function {
			names[i] = symbols.DemangleParams(function)
		}
	}
	return names
}
