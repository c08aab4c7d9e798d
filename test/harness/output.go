package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// Output is what a process has written until now.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // closed and replaced when something came
	eof  chan struct{} // closed at the end; nil where the caller reads
	end  *os.File      // what the child writes to, or nil
}

// sink returns what a child writes to: the caller's own, or a pipe that an output reads.
func sink(t *testing.T, own *os.File) (*os.File, *Output) {
	if own != nil {
		return own, &Output{}
	}
	r, w := Pipe(t)
	o := Collect(r)
	o.end = w
	return w, o
}

// Collect reads a pipe, or what a terminal shows, to its end.
func Collect(r *os.File) *Output {
	o := &Output{more: make(chan struct{}), eof: make(chan struct{})}
	go func() {
		defer r.Close()
		defer close(o.eof)
		for chunk := make([]byte, 64<<10); ; {
			n, err := r.Read(chunk)
			o.mu.Lock()
			o.text.Write(chunk[:n])
			close(o.more)
			o.more = make(chan struct{})
			o.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return o
}

// look is the text so far, and what is closed when more has come.
func (o *Output) look() (text string, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.more
}

// Text is all of it.
func (o *Output) Text() string { s, _ := o.look(); return s }

// WaitOut waits until standard output matches a pattern and returns the match
// and its groups.
func (p *Init) WaitOut(pattern string) []string { p.T.Helper(); return p.WaitFor(p.Stdout, pattern) }

// WaitErr is WaitOut for the log.
func (p *Init) WaitErr(pattern string) []string { p.T.Helper(); return p.WaitFor(p.Stderr, pattern) }

// WaitFor waits for a match in an output, for Patience at most, and returns it with its groups.
func (p *Init) WaitFor(o *Output, pattern string) []string {
	p.T.Helper()
	match, _ := p.WaitBehind(0, o, pattern)
	return match
}

// WaitBehind is WaitFor for what comes after so many bytes; it returns where the match ends, too.
func (p *Init) WaitBehind(passed int, o *Output, pattern string) (match []string, end int) {
	p.T.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	deadline := time.After(Patience)
	for over := ""; ; {
		text, more := o.look()
		if at := re.FindStringSubmatchIndex(text[passed:]); at != nil {
			return re.FindStringSubmatch(text[passed:]), passed + at[1]
		}
		if over != "" {
			p.T.Fatalf("no %q %s, after the first %d bytes", pattern, over, passed)
		}
		select {
		case <-more:
		case <-o.eof:
			over = "to the end of the output"
		case <-deadline:
			over = fmt.Sprint("in ", Patience)
		}
	}
}

// ReadyPid is the pid, in the test's namespace, that an output line ends with.
func (p *Init) ReadyPid(pattern string) int {
	p.T.Helper()
	return p.HostPid(Number(p.T, p.WaitOut(pattern + ` (\d+)$`)[1]))
}

// WaitReady waits until the worker has said so and drainit takes every signal.
func (p *Init) WaitReady() { p.T.Helper(); p.WaitOut(`^ready`); p.WaitTitle("drainit:run") }

// Out is what came so far on standard output. Once the init has ended it waits until nothing
// holds the pipe any more.
func (p *Init) Out() string { p.T.Helper(); return p.all(p.Stdout) }

// Err is Out for the log.
func (p *Init) Err() string { p.T.Helper(); return p.all(p.Stderr) }

func (p *Init) all(o *Output) string {
	p.T.Helper()
	if !p.Running() && o.eof != nil {
		select {
		case <-o.eof:
		case <-time.After(Patience):
			p.T.Errorf("a process still holds the pipe %v after the end", Patience)
		}
	}
	return o.Text()
}

// WantCount checks how often a line is in the output, at the end of a test.
func (p *Init) WantCount(line string, want int) {
	p.T.Helper()
	WantMatches(p.T, p.Out(), "^"+regexp.QuoteMeta(line)+"$", want)
}

// WantLogged checks how often drainit's lines match, at the end of a test.
func (p *Init) WantLogged(pattern string, want int) {
	p.T.Helper()
	WantMatches(p.T, p.Err(), pattern, want)
}

// WantMatches checks how often a pattern matches a text.
func WantMatches(t *testing.T, text, pattern string, want int) {
	t.Helper()
	if got := len(regexp.MustCompile("(?m)"+pattern).FindAllString(text, -1)); got != want {
		t.Errorf("%q matches %d times, want %d", pattern, got, want)
	}
}

// Gots are the lines in the output that say that a signal arrived, in order.
func Gots(output string) (lines []string) {
	for _, line := range LinesOf(output) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "got ") ||
			strings.Contains(line, " got ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// WantGots compares what arrived, in any order: it is the end of a test, when
// whatever could have arrived has.
func (p *Init) WantGots(want ...string) {
	p.T.Helper()
	got := Gots(p.Out())
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		p.T.Errorf("it got %q, want %q", got, want)
	}
}

// LinesOf are the lines of a text, without their ends.
func LinesOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// JsonLine is a line of the log.
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
	"loses":      `string (yes|maybe)`,
	"dropped":    `float64 [1-9]\d*`,
}

// WantPrintable checks that nothing in a line is a control character, raw or
// of Unicode, or no UTF-8 at all.
func WantPrintable(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("not printable: %q", s)
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
	for _, key := range []string{"event", "phase", "reason", "status", "request", "signal",
		"pid", "comm", "left_s"} {
		value, wanted := want[key]
		got, ok := l[key]
		if wanted != ok || ok && value != "" && fmt.Sprint(got) != value {
			t.Errorf("%s is %v, want %q, in %v", key, got, fields, l)
		}
	}
}
