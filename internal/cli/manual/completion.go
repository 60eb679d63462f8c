package manual

import (
	"fmt"
	"strings"
)

// Shells returns the shells that Completion supports.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Completion returns the script that makes a shell complete the program's command lines.
func (pr *Program) Completion(shell string) (string, error) {
	switch shell {
	case "bash":
		return pr.bash(), nil
	case "zsh":
		return pr.zsh(), nil
	case "fish":
		return pr.fish(), nil
	}
	return "", fmt.Errorf("no completion for %q: one of %s", shell, strings.Join(Shells(), ", "))
}

// kind is how a shell completes an option's value.
type kind int

const (
	none kind = iota
	words
	files
	pids
	other
)

func (o *Option) kind() kind {
	switch {
	case o.Value == "":
		return none
	case len(o.values) > 0:
		return words
	case o.Value == "FILE":
		return files
	case o.Long == "pid":
		return pids
	}
	return other
}

// options returns the options of all groups.
func (p *Page) options() []Option {
	var all []Option
	for _, g := range p.Groups {
		all = append(all, g.Options...)
	}
	return all
}

func (pr *Program) names() []string {
	var names []string
	for i := range pr.Pages {
		names = append(names, pr.Pages[i].Name)
	}
	return names
}

const header = "# Completion of %s in %s. Made from its flags: go test ./cmd/ringtap -run Manual -update\n"

func (pr *Program) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, header, pr.Name, "bash")
	fmt.Fprintf(&b, `_%[1]s() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options="" i
	if [[ $COMP_CWORD -eq 1 ]]; then
		COMPREPLY=($(compgen -W '%[2]s' -- "$word"))
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then # a command to run
			COMPREPLY=($(compgen -cf -- "$word"))
			return
		fi
	done
	case ${COMP_WORDS[1]} in
`, pr.Name, strings.Join(append(pr.names(), "help"), " "))
	for i := range pr.Pages {
		pr.Pages[i].bash(&b)
	}
	fmt.Fprintf(&b, "\thelp) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n\tesac\n", strings.Join(pr.names(), " "))
	fmt.Fprintf(&b, `	if [[ $word == -* ]]; then
		COMPREPLY=($(compgen -W "$options" -- "$word"))
	else
		COMPREPLY=($(compgen -f -- "$word"))
	fi
}
complete -o filenames -F _%[1]s %[1]s
`, pr.Name)
	return b.String()
}

func (p *Page) bash(b *strings.Builder) {
	var all []string
	fmt.Fprintf(b, "\t%s)\n\t\tcase $before in\n", p.Name)
	for _, o := range p.options() {
		all = append(all, "--"+o.Long)
		spelled := "--" + o.Long
		if o.short != "" {
			spelled = "-" + o.short + "|" + spelled
		}
		switch o.kind() {
		case words:
			fmt.Fprintf(b, "\t\t%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", spelled, strings.Join(o.values, " "))
		case files:
			fmt.Fprintf(b, "\t\t%s) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", spelled)
		case pids:
			fmt.Fprintf(b, "\t\t%s) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep \"^$word\")); return ;;\n", spelled)
		case other:
			fmt.Fprintf(b, "\t\t%s) return ;;\n", spelled)
		}
	}
	fmt.Fprintf(b, "\t\tesac\n\t\toptions='%s' ;;\n", strings.Join(all, " "))
}

func (pr *Program) zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n"+header, pr.Name, pr.Name, "zsh")
	fmt.Fprintf(&b, "_%s() {\n\tlocal -a commands=(\n", pr.Name)
	for i := range pr.Pages {
		fmt.Fprintf(&b, "\t\t%s\n", zshQuote(pr.Pages[i].Name+":"+pr.Pages[i].summary))
	}
	b.WriteString("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tshift words\n\t((CURRENT--))\n\tcase $words[1] in\n")
	for i := range pr.Pages {
		p := &pr.Pages[i]
		fmt.Fprintf(&b, "\t%s)\n\t\t_arguments -s", p.Name)
		for _, o := range p.options() {
			fmt.Fprintf(&b, " \\\n\t\t\t%s", o.zsh())
		}
		b.WriteString(" \\\n\t\t\t'*:: :_files'\n\t\t;;\n")
	}
	fmt.Fprintf(&b, "\tesac\n}\n_%s \"$@\"\n", pr.Name)
	return b.String()
}

// zsh returns an option in the form that zsh's _arguments takes.
func (o *Option) zsh() string {
	what := strings.NewReplacer("[", "(", "]", ")").Replace(firstPart(o.usage))
	value := ""
	switch o.kind() {
	case words:
		value = ":" + o.Value + ":(" + strings.Join(o.values, " ") + ")"
	case files:
		value = ":" + o.Value + ":_files"
	case pids:
		value = ":" + o.Value + ":_pids"
	case other:
		value = ":" + strings.ReplaceAll(o.Value, ":", " ") + ":"
	}
	if o.short == "" {
		return zshQuote("--" + o.Long + "[" + what + "]" + value)
	}
	return fmt.Sprintf("'(-%s --%s)'{-%s,--%s}%s", o.short, o.Long, o.short, o.Long, zshQuote("["+what+"]"+value))
}

func zshQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func (pr *Program) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, header, pr.Name, "fish")
	fmt.Fprintf(&b, "complete -c %s -f\n", pr.Name)
	for i := range pr.Pages {
		p := &pr.Pages[i]
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", pr.Name, p.Name, fishQuote(p.summary))
	}
	for i := range pr.Pages {
		p := &pr.Pages[i]
		for _, o := range p.options() {
			fmt.Fprintf(&b, "complete -c %s -n '__fish_seen_subcommand_from %s'", pr.Name, p.Name)
			if o.short != "" {
				b.WriteString(" -s " + o.short)
			}
			b.WriteString(" -l " + o.Long)
			switch o.kind() {
			case words:
				fmt.Fprintf(&b, " -x -a %s", fishQuote(strings.Join(o.values, " ")))
			case files:
				b.WriteString(" -r -F")
			case pids:
				b.WriteString(" -x -a '(__fish_complete_pids)'")
			case other:
				b.WriteString(" -x")
			}
			fmt.Fprintf(&b, " -d %s\n", fishQuote(firstPart(o.usage)))
		}
	}
	return b.String()
}

func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// firstPart returns the start of an option's text, which is short enough for a list.
func firstPart(usage string) string {
	if i := strings.IndexAny(usage, ":;("); i > 0 {
		usage = usage[:i]
	}
	return strings.TrimSpace(usage)
}
