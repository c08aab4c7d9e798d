package logx

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"drainit/internal/proc"
)

// longest is how many bytes of a text are shown. Docker cuts a line of 16 kB in two.
const longest = 4 << 10

// Printable escapes what is not printable, line ends above all, and cuts what is long.
func Printable(s string) string {
	if more := len(s) - longest; more > 0 {
		s = fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(s[:longest], ""), more)
	}
	quoted := strconv.Quote(s)
	return unquote.Replace(quoted[1 : len(quoted)-1])
}

// unquote undoes what Quote does to printable characters.
var unquote = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// List names processes, at most ten: "sh[7], node[9] and 490 more".
func List[P any](all []P, describe func(P) string) string {
	const atMost = 10
	var names []string
	for _, p := range all[:min(len(all), atMost)] {
		names = append(names, describe(p))
	}
	s := strings.Join(names, ", ")
	if more := len(all) - atMost; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// WithState describes a process that is about to be killed: "node[17] (sleeping, 31s old)".
func WithState(p *proc.Process) string {
	state := cmp.Or(states[p.State], "state "+string(p.State))
	if p.Start == 0 { // it hangs in the kernel, and nothing else is known
		return fmt.Sprintf("%v (%s)", p, state)
	}
	return fmt.Sprintf("%v (%s, %s old)", p, state, Round(p.Age()))
}

// states has the states of proc(5).
var states = map[byte]string{
	'R': "running", 'S': "sleeping", 'D': "stuck in the kernel",
	'T': "stopped", 't': "stopped", 'Z': "dead", 'X': "dead", 'x': "dead",
}

// Round returns a duration for people: in tenths of a second below ten seconds, in whole seconds above.
func Round(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Processes returns a number of processes in words: "1 process".
func Processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return strconv.Itoa(n) + " processes"
}
