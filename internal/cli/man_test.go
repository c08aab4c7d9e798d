package cli

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/spf13/pflag"

	"drainit/internal/inspect"
)

var update = flag.Bool("update", false, "write docs/drainit.1 anew")

// The man page has each flag, verb and variable that drainit takes, and none else.
func TestManPage(t *testing.T) {
	const path = "../../docs/drainit.1"
	made := newManPage(t).text(t)
	if *update {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) == made {
		return
	}
	is, want := strings.Split(string(page), "\n"), strings.Split(made, "\n")
	at := 0
	for at < min(len(is), len(want))-1 && is[at] == want[at] {
		at++
	}
	t.Errorf("docs/drainit.1 is out of date: line %d is\n\t%s\nand should be\n\t%s\nMake it anew: go test ./internal/cli -run TestManPage -update", at+1, is[at], want[at])
}

// helpEntry is a flag or a verb of the help.
type helpEntry struct {
	section, verb    string // the verb that it belongs to, "" where none or each
	short, name, arg string // of a flag; a verb alone has no name
}

// isVerb reports whether the entry is a verb or a flag of one.
func (e helpEntry) isVerb() bool { return strings.HasPrefix(e.section, "Verbs") }

// key names the entry's text in the template.
func (e helpEntry) key() string {
	if e.name == "" {
		return e.verb
	}
	return strings.TrimSpace(e.verb + " --" + e.name)
}

// mdoc is the entry as the arguments of a macro.
func (e helpEntry) mdoc() string {
	var words []string
	if e.verb != "" {
		words = append(words, "Cm "+e.verb)
	}
	if e.short != "" {
		words = append(words, "Fl "+e.short+" ,")
	}
	if e.name != "" {
		words = append(words, "Fl -"+e.name)
	}
	if e.arg != "" {
		words = append(words, "Ar "+e.arg)
	}
	return strings.Join(words, " ")
}

var helpLine = regexp.MustCompile(`^  (?:-(\w), |    )?(--)?([a-z-]+)(?: ([A-Z:]+))?(?:  |$)`)

// helpEntries are the flags and verbs in the order of the help.
func helpEntries() (entries []helpEntry) {
	_, list, _ := strings.Cut(help, usage)
	list, _, _ = strings.Cut(strings.TrimSpace(list), "\n\n")
	section, verb := "", ""
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, " ") {
			section, verb = line, ""
			continue
		}
		found := helpLine.FindStringSubmatch(line)
		if found == nil {
			continue // more of the text
		}
		e := helpEntry{section: section, verb: verb, short: found[1], name: found[3], arg: found[4]}
		if found[2] == "" {
			verb = e.name
			e.verb, e.name = verb, ""
		}
		if e.verb != "" && e.name != "" && ofEachVerb(e.name) {
			e.verb = ""
		}
		entries = append(entries, e)
	}
	return entries
}

// ofEachVerb reports whether a flag belongs to all verbs.
func ofEachVerb(name string) bool {
	for _, verb := range inspect.Verbs {
		if verbFlags(&inspect.Request{Verb: verb}).Lookup(name) == nil {
			return false
		}
	}
	return true
}

// manPage is what the page is made of.
type manPage struct {
	options, verbs []helpEntry
	template       *template.Template
	defaults       any // what the texts name of them
}

func newManPage(t *testing.T) *manPage {
	t.Helper()
	o, err := parse(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &manPage{defaults: map[string]string{
		"Grace": o.config.Grace.String(), "TerminationLog": o.config.TerminationLog, "LogLevel": o.level.String(),
	}}
	for _, e := range helpEntries() {
		if e.isVerb() {
			p.verbs = append(p.verbs, e)
		} else {
			p.options = append(p.options, e)
		}
	}
	p.template, err = template.New("drainit.1.tmpl").Option("missingkey=error").Funcs(template.FuncMap{
		"synopsis": p.synopsis, "environment": p.environment, "grace": graceVariables,
		"options": func() (string, error) { return p.list(p.options) },
		"verbs":   func() (string, error) { return p.list(p.verbs) },
	}).ParseFiles("testdata/drainit.1.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	p.check(t)
	return p
}

// check fails where the flags and verbs that are taken, those in the help and those that
// the template has a text for are not the same.
func (p *manPage) check(t *testing.T) {
	t.Helper()
	taken := []string{"-h, --help"} // pflag's own
	spell := func(verb string) func(*pflag.Flag) {
		return func(f *pflag.Flag) {
			e := helpEntry{verb: verb, short: f.Shorthand, name: f.Name}
			if verb != "" && ofEachVerb(f.Name) {
				e.verb = ""
			}
			taken = append(taken, e.spelled(f.NoOptDefVal == ""))
		}
	}
	newFlags(new(options)).VisitAll(spell(""))
	for _, verb := range inspect.Verbs {
		taken = append(taken, verb)
		verbFlags(&inspect.Request{Verb: verb}).VisitAll(spell(verb))
	}
	var listed, keys []string
	for _, e := range slices.Concat(p.options, p.verbs) {
		spelled := e.spelled(e.arg != "")
		listed, keys = append(listed, spelled), append(keys, e.key())
		if !slices.Contains(taken, spelled) {
			t.Errorf("the help has %s, which drainit does not take so", spelled)
		}
	}
	for _, spelled := range taken {
		if !slices.Contains(listed, spelled) {
			t.Errorf("drainit takes %s, which the help does not have so", spelled)
		}
	}
	for _, text := range p.template.Templates() {
		if name := text.Name(); name != p.template.Name() && !slices.Contains(keys, name) {
			t.Errorf("testdata/drainit.1.tmpl has a text for %s, which the help does not have", name)
		}
	}
}

// spelled is the entry as the help has it, with any argument as VALUE.
func (e helpEntry) spelled(value bool) string {
	text := e.key()
	if e.short != "" {
		text = "-" + e.short + ", " + text
	}
	if value {
		text += " VALUE"
	}
	return text
}

// text is the page.
func (p *manPage) text(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := p.template.Execute(&b, p.defaults); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// list has the entries, each section of the help as a list of its own.
func (p *manPage) list(entries []helpEntry) (string, error) {
	var b strings.Builder
	section := ""
	for _, e := range entries {
		if e.section != section {
			if section != "" {
				b.WriteString(".El\n")
			}
			section = e.section
			if !e.isVerb() {
				b.WriteString(".Ss " + section + "\n")
			}
			b.WriteString(".Bl -tag -width Ds\n")
		}
		b.WriteString(".It " + e.mdoc() + "\n")
		if err := p.template.ExecuteTemplate(&b, e.key(), p.defaults); err != nil {
			return "", err
		}
	}
	return b.String() + ".El\n", nil
}

// synopsis has a line for each verb.
func (p *manPage) synopsis() string {
	var b strings.Builder
	common := ""
	for _, e := range p.verbs {
		if e.verb == "" {
			common += "\n.Op " + e.mdoc()
		}
	}
	for _, verb := range inspect.Verbs {
		fmt.Fprintf(&b, ".Nm\n.Cm %s", verb)
		for _, e := range p.verbs {
			if e.verb == verb && e.name != "" {
				e.verb = ""
				b.WriteString("\n.Op " + e.mdoc())
			}
		}
		b.WriteString(common + "\n")
	}
	return b.String()
}

// environment lists the variables in the order of their flags.
func (p *manPage) environment() string {
	var b strings.Builder
	for _, e := range p.options {
		at := slices.IndexFunc(settings, func(s setting) bool { return s.name == e.name })
		if at < 0 {
			continue // has no variable
		}
		s := settings[at]
		fmt.Fprintf(&b, ".It Ev %s\n.Fl -%s", s.variable(), s.name)
		switch {
		case s.repeat:
			b.WriteString(" ;\ncommas separate several")
		case s.toggle:
			b.WriteString(" :\n1 or 0")
		case s.empty:
			b.WriteString(" ;\nan empty value turns it off")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// graceVariables lists the other variables that the help names, in its order.
func graceVariables() string {
	return ".It\n.Ev " + strings.Join(regexp.MustCompile(`OJS_[A-Z_]+`).FindAllString(help, -1), "\n.It\n.Ev ") + "\n"
}
