package rehearse

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"

	"drainit/internal/logx"
)

// line is a line of drainit's log, in JSON, and when it was read.
type line struct {
	text string
	at   time.Time
}

// after returns what follows a key. A quotation mark in a value has a backslash before it, so that no value
// looks like a key.
func (l line) after(key string) string {
	_, rest, _ := strings.Cut(l.text, `"`+key+`":`)
	return rest
}

// value returns the value of a key that is a text, "" without it.
func (l line) value(key string) string {
	text, _ := strconv.QuotedPrefix(l.after(key))
	text, _ = strconv.Unquote(text)
	return text
}

// number returns the value of a key that is a number, 0 without it.
func (l line) number(key string) (n int) {
	_, _ = fmt.Sscan(l.after(key), &n)
	return n
}

// reason returns a line as a reason.
func (l line) reason(loses bool) reason {
	return reason{l.number("pid"), l.value("comm"), l.value("msg"), loses}
}

// readLog reads what drainit and the processes below it write to standard error, and sends all lines of the
// log at its end. It shows the log in the form and from the level on that the user wants, and the rest as it
// is. A line of the log may follow words that lack the end of their line.
func (r *rehearsal) readLog() {
	var all []line
	in := bufio.NewReader(r.stderr)
	for {
		shown, err := in.ReadString('\n')
		at := max(0, strings.Index(shown, `{"level":"`))
		if l := (line{shown[at:], time.Now()}); l.value("logger") == "drainit" {
			all, shown = append(all, l), shown[:at]
			switch level, _ := zapcore.ParseLevel(l.value("level")); {
			case !r.LogLevel.Enabled(level):
			case r.LogJSON:
				shown += l.text
			default:
				shown += logx.Text(level, l.value("msg"))
			}
		}
		_, _ = os.Stderr.WriteString(shown)
		if err != nil {
			r.log <- all
			return
		}
	}
}
