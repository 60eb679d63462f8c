package kprobe

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/host/btf"
)

// all returns the fetch arguments for $args: every parameter with its own type, or the result.
// A struct passed by value is fetched as its words.
func (e *evaluator) all() ([]ftrace.FetchArg, error) {
	if e.unknown != "" {
		return nil, errors.New(e.unknown)
	}
	if e.isReturn {
		if e.result.Resolve().Kind() == btf.Void {
			return nil, nil
		}
		return e.words(e.returned())
	}
	var out []ftrace.FetchArg
	for i, p := range e.params {
		v := p.value
		var next ctype
		if i+1 < len(e.params) {
			next = e.params[i+1].typ
		}
		if isBuffer(v.typ, next) {
			v.typ = ctype{stars: 1}
		}
		args, err := e.words(v)
		if err != nil {
			return nil, err
		}
		out = append(out, args...)
	}
	return out, nil
}

// isBuffer reports whether a char pointer may point to bytes that are not text: a buffer that
// the function fills, or one whose length is the next parameter. By name, such a parameter is
// still fetched as text; in $args it is not.
func isBuffer(t, next ctype) bool {
	return t.isPointer() && t.isText() && (!t.elem().t.Qualified(btf.Const, "") || next.t.Qualified(btf.Typedef, "size_t"))
}

// words returns the fetch arguments for one value of any type.
func (e *evaluator) words(v value) ([]ftrace.FetchArg, error) {
	if v.kind == nowhere {
		return nil, nil
	}
	a, err := e.fetch(v, "")
	if err == nil {
		return []ftrace.FetchArg{a}, nil
	}
	switch v.kind {
	case inWords:
		var out []ftrace.FetchArg
		size, _ := v.typ.size()
		for i, word := range v.words {
			suffix := "_" + strconv.Itoa(i)
			name := v.name[:min(len(v.name), ftrace.MaxArgName-len(suffix))] + suffix
			out = append(out, ftrace.FetchArg{Name: name, Fetch: word, Type: wordType(size - 8*uint64(i))})
		}
		return out, nil
	case inMemory:
		size, _ := v.typ.size()
		n := min((size+7)/8, maxArray)
		a = ftrace.FetchArg{
			Name: v.name[:min(len(v.name), ftrace.MaxArgName)], Fetch: deref(v.offset, v.text, v.user), Type: fmt.Sprintf("x64[%d]", n),
		}
		return []ftrace.FetchArg{a}, nil
	}
	return nil, err
}

// wordType returns the type for a word of which a struct uses only some bytes. The rest of the
// register is undefined.
func wordType(bytes uint64) string {
	switch {
	case bytes >= 8:
		return "x64"
	case bytes == 1 || bytes == 2 || bytes == 4:
		return fmt.Sprintf("x%d", 8*bytes)
	}
	return fmt.Sprintf("b%d@0/64", 8*bytes)
}
