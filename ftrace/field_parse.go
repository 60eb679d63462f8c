package ftrace

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// parseField parses a line such as
//
//	field:__data_loc char[] name;	offset:8;	size:4;	signed:0;
//
// and returns the reason if it is malformed.
func parseField(line string) (f Field, reason string) {
	var declaration string
	seen := 0
	for _, part := range strings.Split(line, ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			continue
		}
		var err error
		switch key {
		case "field":
			declaration = value
		case "offset":
			f.Offset, err = strconv.Atoi(value)
			seen++
		case "size":
			f.Size, err = strconv.Atoi(value)
			seen++
		case "signed":
			f.Signed = value == "1"
		}
		if err != nil {
			return f, "the " + key + " is no number"
		}
	}
	if seen != 2 {
		return f, "offset or size is missing"
	}
	if f.Offset < 0 || f.Size < 0 || f.Offset > maxRecord || f.Size > maxRecord-f.Offset {
		return f, "the field lies outside of any record"
	}
	if !f.declare(declaration) {
		return f, "the field has no name"
	}
	if f.Location != Inline && f.Size != 4*max(f.Length, 1) {
		return f, "a field that says where its bytes are has 4 bytes for each string or array"
	}
	return f, ""
}

func (f *Field) declare(text string) bool {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "__data_loc "); ok {
		text, f.Location = rest, DataLoc
	} else if rest, ok := strings.CutPrefix(text, "__rel_loc "); ok {
		text, f.Location = rest, RelLoc
	}
	// Brackets come after the name for an array in the record, and after the type for an array
	// elsewhere.
	text, length, behindName := cutBrackets(text)
	end := len(text)
	start := end
	for start > 0 && isIdentByte(text[start-1]) {
		start--
	}
	f.Name = text[start:end]
	if f.Name == "" || '0' <= f.Name[0] && f.Name[0] <= '9' {
		return false
	}
	f.Type = strings.TrimSpace(text[:start])
	if f.Location != Inline {
		if typ, count, ok := cutBrackets(f.Type); ok && count != "" {
			f.Type, length = typ, count // char[][2], two strings
		}
	}
	f.Common = strings.HasPrefix(f.Name, "common_")
	f.Array = behindName
	if element, ok := strings.CutSuffix(f.Type, "[]"); ok {
		f.Type, f.Array = strings.TrimSpace(element), true
	}
	f.size(length)
	f.String = f.Array && isChar(f.Type)
	return true
}

// size sets the length and the element size from the text between the brackets, which may be
// empty or the name of a constant.
func (f *Field) size(length string) {
	f.ElemSize = f.Size
	if !f.Array {
		return
	}
	typ, _ := cexpr.LookupType(f.Type)
	n, err := strconv.Atoi(length)
	switch {
	case f.Location == Inline && err == nil && n > 0 && f.Size%n == 0 && f.Size > 0:
		f.Length, f.ElemSize = n, f.Size/n
		return
	case f.Location != Inline && err == nil && n > 0 && n <= maxRecord:
		f.Length = n
	}
	switch {
	case typ.Size > 0:
		f.ElemSize = typ.Size
	default:
		f.ElemSize = 1
	}
}

// cutBrackets splits "u8 mac[6]" into "u8 mac" and "6". ok is false if the text does not end
// with brackets.
func cutBrackets(text string) (before, inside string, ok bool) {
	if !strings.HasSuffix(text, "]") {
		return text, "", false
	}
	open := strings.LastIndexByte(text, '[')
	if open < 0 {
		return text, "", false
	}
	return strings.TrimSpace(text[:open]), strings.TrimSpace(text[open+1 : len(text)-1]), true
}

func isIdentByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isChar(typ string) bool {
	return strings.TrimSpace(strings.TrimPrefix(typ, "const ")) == "char"
}

func isPointer(typ string) bool { return strings.Contains(typ, "*") }
