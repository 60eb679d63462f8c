package syntax

import (
	"strconv"
	"strings"
)

// attachPoints parses attach points, up to the predicate or block. They have a syntax of their own,
// so it reads text instead of tokens.
func (p *parser) attachPoints() []*AttachPoint {
	var points []*AttachPoint
	for {
		p.asText()
		points = append(points, p.attachPoint()...)
		if !p.got(",") || p.peek().is("{") || p.peek().is("/") {
			break
		}
	}
	if t := p.peek(); !t.is("{") && !t.is("/") {
		p.unexpected(`",", a predicate or "{" after the probe`)
	}
	return points
}

// asText drops the tokens that were read ahead, so that reading continues as text.
func (p *parser) asText() {
	t := p.peek()
	if t.pos.File != p.pre.lex.file {
		p.unexpected("a probe")
	}
	p.pre.lex.back(t)
	p.pre.pending = nil
	p.tokens, p.i = p.tokens[:0], 0
}

// attachPoint parses one attach point. If a wildcard stands for the probe type, it returns several.
func (p *parser) attachPoint() []*AttachPoint {
	l := p.pre.lex
	at := token{pos: l.pos(), off: l.off}
	at.length = p.measurePoint(l.text[l.off:], at)
	if at.length == 0 {
		p.unexpected("a probe such as kprobe:f, interval:s:1 or begin")
	}
	text := l.text[l.off : l.off+at.length]
	if len(text) > maxPoint {
		p.abort(token{pos: at.pos, length: 1}, "the probe is too long")
	}
	l.off += at.length
	word, args := p.split(at, text)
	name, word, named := strings.Cut(word, "=")
	if !named {
		name, word = "", name
	}
	kind, known := findProvider(word)
	kinds := []provider{kind}
	if !known && strings.Contains(word, "*") {
		kinds = matchProviders(word, args)
		known = len(kinds) > 0
	}
	if !known {
		p.unknownProvider(at, word)
		panic(bailout{})
	}
	var points []*AttachPoint
	for _, kind := range kinds {
		if kind.name == "tracepoint" && len(args) == 1 && strings.Contains(args[0], "*") {
			args = append(args, "*")
		}
		if p.options.process && kind.isUprobe() && (len(args) == 1 || len(args) == 2 && args[0] == "cpp") {
			args = append([]string{""}, args...)
		}
		p.checkWords(at, kind, args)
		full := strings.Join(append([]string{kind.name}, args...), ":")
		if len(args) > 1 && args[1] == "@" {
			full = strings.Replace(full, ":@:", "@", 1)
		}
		points = append(points, &AttachPoint{Pos: at.pos, name: name, Provider: kind.name, Args: args, Text: full, Capitals: word == "BEGIN" || word == "END"})
	}
	return points
}

// measurePoint returns the length of the attach point at the start of text. A slash starts the
// predicate, except within a path.
func (p *parser) measurePoint(text string, tok token) int {
	paths, first := false, true
	for n := 0; n < len(text); n++ {
		switch c := text[n]; {
		case c == '"':
			end := endOfQuote(text[n:])
			if end < 0 {
				tok.pos.Col += n
				tok.length = 1
				p.fail(tok, "the quote is not closed")
			}
			n += end
		case c == ':' && first:
			first = false
			word := text[strings.IndexByte(text[:n], '=')+1 : n]
			kind, known := findProvider(word)
			paths = kind.paths || !known // parameters or a wildcard
		case strings.IndexByte("{,;} \t\r\n\f\v", c) >= 0, c == '/' && !paths:
			return n
		}
	}
	return len(text)
}

// endOfQuote returns the index of the quote that closes the one at the start of text, or -1 if the
// line has none.
func endOfQuote(text string) int {
	for n := 1; n < len(text) && text[n] != '\n'; n++ {
		switch text[n] {
		case '"':
			return n
		case '\\':
			n++
		}
	}
	return -1
}

// maxPoint bounds the length of an attach point with its parameters, in bytes.
const maxPoint = 1 << 16

// split splits an attach point into its words and replaces positional parameters, which may contain
// several words. FILE@SOURCE:LINE becomes the words FILE, @, SOURCE, LINE.
func (p *parser) split(tok token, text string) (first string, rest []string) {
	var words []string
	var word strings.Builder
	cut := func() {
		words = append(words, word.String())
		word.Reset()
	}
	budget := maxPoint
	for quoted := false; text != ""; {
		c, n := text[0], 1
		if budget--; budget < 0 {
			p.fail(tok, "the probe is too long")
		}
		switch {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\' && len(text) > 1:
			word.WriteByte(text[1])
			n = 2
		case quoted:
			word.WriteByte(c)
		case strings.HasPrefix(text, "::") && len(words) > 1 && isUserFunction(words[0]):
			word.WriteString("::") // within a C++ name: uprobe:FILE:ns::f
			n = 2
		case c == ':':
			cut()
		case c == '@' && len(words) == 1 && (words[0] == "uprobe" || words[0] == "u"):
			cut()
			words = append(words, "@")
		case c == '$':
			var value string
			value, n = p.parameter(tok, text)
			text = value + text[n:]
			continue
		default:
			word.WriteByte(c)
		}
		text = text[n:]
	}
	cut()
	return words[0], words[1:]
}

// isUserFunction reports whether a word names a provider of probes on user functions.
func isUserFunction(word string) bool {
	kind, known := findProvider(word[strings.IndexByte(word, '=')+1:])
	return known && kind.isUprobe()
}

// parameter returns the value of the positional parameter at the start of text, and the length of
// its name.
func (p *parser) parameter(tok token, text string) (value string, n int) {
	for n = 1; n < len(text) && isDigit(text[n]); n++ {
	}
	i, err := strconv.Atoi(text[1:n])
	if err != nil || i < 1 {
		p.report(tok, "a probe's parameters are $1, $2 and so on", `Put "" around a name that has a $.`)
		panic(bailout{})
	}
	if i <= len(p.options.Positional) {
		value = p.options.Positional[i-1]
	}
	return value, n
}
