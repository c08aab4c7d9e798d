package harness

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// LinesOf are the lines of a text, without their ends.
func LinesOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// JsonLine is one line of the log.
type JsonLine map[string]any

// JsonLines reads a log and checks what holds for every line of it: the keys,
// their types, and that nothing in it can move a cursor or begin a line.
func JsonLines(t *testing.T, log string) (all []JsonLine) {
	t.Helper()
	for _, text := range LinesOf(log) {
		var line JsonLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		WantPrintable(t, text)
		if strings.Contains(text, "%!") {
			t.Errorf("a format that its arguments do not fit: %s", text)
		}
		for _, key := range []string{"time", "level", "logger", "msg", "event"} {
			if line[key] == nil {
				t.Errorf("no %s in %s", key, text)
			}
		}
		for key, value := range line {
			s, isString := value.(string)
			shown := fmt.Sprintf("%T %v", value, value)
			if form := JSONKeys[key]; form == "" || !regexp.MustCompile("^"+form+"$").MatchString(shown) {
				t.Errorf("%s is %s, want %q, in %s", key, shown, form, text)
			}
			if isString {
				WantPrintable(t, s)
			}
		}
		all = append(all, line)
	}
	return all
}

// JSONKeys are all keys there are, and their values with their types in Go.
var JSONKeys = map[string]string{
	"time":       `string \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`,
	"level":      `string (error|warn|info|debug)`,
	"logger":     `string drainit`,
	"msg":        `string .+`,
	"event":      `string [a-z][a-z0-9_]+`,
	"reason":     `string (exit|stop|grace|second_stop|forward_worker|outside|forwarded|not_started)`,
	"request":    `string SIG[A-Z0-9]+(\+\d+)?`,
	"phase":      `string (starting|running|quiet|draining|killing|done)`,
	"signal":     `string SIG[A-Z0-9]+(\+\d+)?`,
	"pid":        `float64 [1-9]\d*`,
	"comm":       `string .+`,
	"left_s":     `float64 \d+(\.\d)?`,
	"duration_s": `float64 \d+(\.\d)?`,
	"left":       `float64 \d+`,
	"killed":     `float64 [1-9]\d*`,
	"status":     `float64 \d+`,
	"dropped":    `float64 [1-9]\d*`,
}

// WantPrintable checks that nothing in a line is a control character, raw or
// of Unicode, or no UTF-8 at all.
func WantPrintable(t *testing.T, s string) {
	t.Helper()
	bad := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(s) || strings.ContainsFunc(s, bad) {
		t.Errorf("not printable: %q", s)
	}
}

// WantTimeSince checks that the line's time lies between then and now; it has
// milliseconds.
func (l JsonLine) WantTimeSince(t *testing.T, then time.Time) {
	t.Helper()
	if at := l.At(t); at.Before(then.Add(-time.Millisecond)) || at.After(time.Now()) {
		t.Errorf("time %v is not between %v and now", l["time"], then)
	}
}

// WantFields checks the fields of the contract: "phase=quiet left_s=" wants the
// phase to be quiet, some left_s, and none of the others.
func (l JsonLine) WantFields(t *testing.T, fields string) {
	t.Helper()
	want := make(map[string]string)
	for _, field := range strings.Fields(fields) {
		key, value, _ := strings.Cut(field, "=")
		want[key] = value
	}
	for _, key := range []string{"event", "phase", "reason", "status", "request", "signal", "pid", "comm", "left_s"} {
		value, wanted := want[key]
		got, ok := l[key]
		if wanted != ok || ok && value != "" && fmt.Sprint(got) != value {
			t.Errorf("%s is %v, want %q, in %v", key, got, fields, l)
		}
	}
}

// At is the time of a line of the log.
func (l JsonLine) At(t *testing.T) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, l["time"].(string))
	Must(t, err)
	return at
}
