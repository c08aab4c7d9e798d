// Package trees reads the notation in which tests write processes: NAME[WORD,WORD](CHILD CHILD), with
// blanks between those beside each other. A * behind a name is short for a word of its own. A name has a
// _ for each blank. What the words say, and a number at the end of a name, is the test's to define.
package trees

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Process is one, with those that it has started.
type Process struct {
	Name  string
	Words []string
	Below []Process
}

// Numbered parts the name from the number at its end. ok is false where there is none.
func (p Process) Numbered() (name string, number int, ok bool) {
	name = strings.TrimRight(p.Name, "0123456789")
	number, err := strconv.Atoi(p.Name[len(name):])
	return name, number, err == nil
}

var one = regexp.MustCompile(`^\s*([^][()*\s]+)(\*|\[[^]]*\])?`)

// Parse reads the processes of a text; it panics where that is none.
func Parse(text string) []Process {
	all, rest := parse(text)
	if strings.TrimSpace(rest) != "" {
		panic(fmt.Sprintf("no processes: %q, of %q", rest, text))
	}
	return all
}

// Each calls number with each process of a text, before those below it, and with the number of the one above
// it, which is top for the first ones.
func Each(text string, top int, number func(p Process, above int) int) {
	var each func(all []Process, above int)
	each = func(all []Process, above int) {
		for _, p := range all {
			each(p.Below, number(p, above))
		}
	}
	each(Parse(text), top)
}

// parse reads as many as there are before the end or a closing parenthesis.
func parse(text string) (all []Process, rest string) {
	for {
		m := one.FindStringSubmatch(text)
		if m == nil {
			return all, text
		}
		p := Process{Name: strings.ReplaceAll(m[1], "_", " ")}
		if words := strings.Trim(m[2], "[]"); words != "" {
			p.Words = strings.Split(words, ",")
		}
		if text = text[len(m[0]):]; strings.HasPrefix(text, "(") {
			if p.Below, text = parse(text[1:]); !strings.HasPrefix(text, ")") {
				panic(fmt.Sprintf("no parenthesis closes at %q", text))
			}
			text = text[1:]
		}
		all = append(all, p)
	}
}

// Text is the processes in the notation.
func Text(all []Process) string {
	var texts []string
	for _, p := range all {
		text := strings.ReplaceAll(p.Name, " ", "_")
		switch words := strings.Join(p.Words, ","); words {
		case "":
		case "*":
			text += words
		default:
			text += "[" + words + "]"
		}
		if len(p.Below) > 0 {
			text += "(" + Text(p.Below) + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}
