package probe

import "github.com/ringtap/ringtap/symbols"

// Names returns the Functions as people know them: C++ and Rust functions as in stacks (ns::f), or
// with the types of their parameters if the set has several functions of that name.
func (s *Set) Names() []string {
	raw := make(map[string]string) // by name, the function that has it; "" if several have
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
