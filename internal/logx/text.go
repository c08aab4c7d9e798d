package logx

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"drainit/internal/proc"
)

// namedAtMost bounds the processes that one line names.
const namedAtMost = 10

// Printable escapes what is not printable, line ends above all.
func Printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		s = s[n:]
	}
	return b.String()
}

// List names processes, at most ten: "sh[7], node[9] and 490 more".
func List[P any](all []P, describe func(P) string) string {
	var names []string
	for _, p := range all[:min(len(all), namedAtMost)] {
		names = append(names, describe(p))
	}
	s := strings.Join(names, ", ")
	if more := len(all) - namedAtMost; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// WithState says of a process what can't be asked after a kill: "node[17] (sleeping, 31s old)".
func WithState(p *proc.Process) string {
	state, known := states[p.State]
	if !known {
		state = "state " + string(p.State)
	}
	if p.Start == 0 { // not known
		return fmt.Sprintf("%v (%s)", p, state)
	}
	return fmt.Sprintf("%v (%s, %s old)", p, state, Round(p.Age()))
}

// states are those of proc(5).
var states = map[byte]string{
	'R': "running", 'S': "sleeping", 'D': "stuck in the kernel", 'T': "stopped", 't': "stopped", 'Z': "dead", 'X': "dead", 'x': "dead",
}

// Round is for people: tenths of a second below ten, whole seconds above.
func Round(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Processes counts them: "1 process".
func Processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return strconv.Itoa(n) + " processes"
}
