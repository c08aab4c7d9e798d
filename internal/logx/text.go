package logx

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"drainit/internal/proc"
)

// namedAtMost bounds the processes that one line names.
const namedAtMost = 10

// textEncoder writes the message alone: it says all that the fields do.
type textEncoder struct{ zapcore.Encoder }

// Clone returns an encoder of the same kind.
func (e textEncoder) Clone() zapcore.Encoder { return textEncoder{e.Encoder.Clone()} }

// EncodeEntry leaves the fields out.
func (e textEncoder) EncodeEntry(ent zapcore.Entry, _ []zapcore.Field) (*buffer.Buffer, error) {
	return e.Encoder.EncodeEntry(ent, nil)
}

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
func List(all []*proc.Process, describe func(*proc.Process) string) string {
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

// WithState tells what can't be asked any more after a kill: "node[17] (sleeping, 31s old)".
func WithState(p *proc.Process) string {
	if p.Start == 0 { // not known
		return fmt.Sprintf("%v (%s)", p, stateName(p.State))
	}
	return fmt.Sprintf("%v (%s, %s old)", p, stateName(p.State), Round(p.Age()))
}

// stateName is a state of proc(5) in a word or two.
func stateName(state byte) string {
	switch state {
	case 'R':
		return "running"
	case 'S':
		return "sleeping"
	case 'D':
		return "stuck in the kernel"
	case 'T', 't':
		return "stopped"
	case 'Z', 'X', 'x':
		return "dead"
	}
	return "state " + string(state)
}

// Round is for people: tenths of a second below ten, whole seconds above.
func Round(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func Processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return strconv.Itoa(n) + " processes"
}
