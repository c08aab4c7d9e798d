package journal

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"go.uber.org/zap/zapcore"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/worker"
	"drainit/test/harness/source"
)

var update = flag.Bool("update", false, "write the page of messages anew")

const page = "../../docs/messages.md"

// The page has every line of the log, every reason, and every error of the command line, the start and the
// verbs, and no other. The template says when each comes, and what to do.
func TestPageOfMessages(t *testing.T) {
	p := make(contents)
	p.addLines(t)
	p.addErrors(t)
	if len(p) < 110 {
		t.Errorf("%d messages: the code is not understood any longer", len(p))
	}
	var made strings.Builder
	funcs := template.FuncMap{"line": p.line, "calm": p.calm, "reason": p.reason, "error": p.error,
		"clear": p.clear}
	tmpl, err := template.New("messages.md.tmpl").Funcs(funcs).ParseFiles("testdata/messages.md.tmpl")
	if err == nil {
		err = tmpl.Execute(&made, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(p) > 0 {
		t.Fatalf("testdata/messages.md.tmpl does not say when these come, and what to do: %q",
			slices.Sorted(maps.Keys(p)))
	}
	if *update {
		if err := os.WriteFile(page, []byte(made.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != made.String() {
		t.Errorf("%s is out of date (%v): go test ./internal/journal -run TestPageOfMessages -update", page,
			err)
	}
}

// Each line has an event, a level and words, and none is written past the table of them.
func TestEveryLineHasAnEvent(t *testing.T) {
	inspect(t, func(file source.File, n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if _, method := called(n); method == "Line" && filepath.Base(file.Name) != "journal.go" {
				t.Errorf("%s writes a line beside package journal", file.Name)
			}
		case *ast.CompositeLit:
			if named(n.Type) == "Message" && filepath.Base(file.Name) != "messages.go" {
				t.Errorf("%s has a line that is not in messages.go", file.Name)
			}
		}
	})
}

// Each line that is written has an argument for each name in its message that is no fact, and no other.
func TestEachNameHasItsArgument(t *testing.T) {
	p, checked := make(contents), 0
	p.addLines(t)
	inspect(t, func(file source.File, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		_, method := called(call)
		first := map[string]int{"Say": 1, "Once": 1, "OnceOf": 2, "line": 2}[cmp.Or(method, named(call.Fun))]
		if first == 0 || call.Ellipsis.IsValid() || len(call.Args) < first {
			return
		}
		of := call.Args[first-1]
		if method == "" { // diag.line
			of = call.Args[0]
		}
		if x, ok := of.(*ast.SelectorExpr); ok {
			of = x.Sel
		}
		m, ok := p[named(of)]
		if !ok { // it is chosen before
			return
		}
		names := make(map[string]bool)
		os.Expand(m.Text, func(name string) string { names[name] = facts[name] == nil; return "" })
		maps.DeleteFunc(names, func(_ string, isArg bool) bool { return !isArg })
		if checked++; len(names) != len(call.Args)-first {
			t.Errorf("%v: %d arguments for %v", file.At(n.Pos()), len(call.Args)-first, names)
		}
	})
	if checked < 40 {
		t.Errorf("%d calls: the code is not understood any longer", checked)
	}
}

// contents are what the page has to say: a line by the name of its variable, a reason, and an error by its
// words. What it has said is deleted.
type contents map[string]Message

func (p contents) take(key string) (Message, error) {
	m, ok := p[key]
	delete(p, key)
	if !ok {
		return m, fmt.Errorf("%q is not in the code, or twice here", key)
	}
	return m, nil
}

// line is the row of some lines about one event.
func (p contents) line(names, when, do string) (row string, err error) {
	var event string
	var levels, texts []string
	for _, name := range strings.Fields(names) {
		m, err := p.take(name)
		if event = cmp.Or(event, m.Event); err != nil || m.Event != event {
			return "", fmt.Errorf("%s: event %q, in a row about %q: %w", name, m.Event, event, err)
		}
		level := m.Level.Level.String()
		if m.Loss != "" {
			level += ", `loses`: `" + string(m.Loss) + "`"
		}
		if !slices.Contains(levels, level) {
			levels = append(levels, level)
		}
		if text := "`" + shown(m.Text) + "`"; text != "`…`" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	words := cmp.Or(strings.Join(texts, "<br>"), "the error alone")
	return "| `" + event + "` | " + strings.Join(levels, "<br>") + " | " + words + " | " + when +
		" | " + do + " |", nil
}

// calm are lines that ask nothing of the reader, and have no row.
func (p contents) calm(names string) (list string, err error) {
	var all []string
	for _, name := range strings.Fields(names) {
		m, err := p.take(name)
		if err != nil {
			return "", err
		}
		all = append(all, "`"+m.Event+"` (`"+shown(m.Text)+"`)")
	}
	return strings.Join(all, ", "), nil
}

func (p contents) reason(reason, means string) (row string, err error) {
	_, err = p.take("reason " + reason)
	return "| `" + reason + "` | " + means + " |", err
}

func (p contents) error(text, status, do string) (row string, err error) {
	_, err = p.take("error " + text)
	return "| `" + text + "` | " + status + " | " + do + " |", err
}

// clear is an error that says itself what to do, and has no row.
func (p contents) clear(text string) (nothing string, err error) {
	_, err = p.take("error " + text)
	return "", err
}

// addLines adds the lines, the one of the log itself among them, and the reasons.
func (p contents) addLines(t *testing.T) {
	t.Helper()
	levels := map[string]diag.Level{
		"atDebug": atDebug, "atInfo": atInfo, "atWarn": atWarn, "atError": atError,
		"atInfoLoses": atInfoLoses, "atWarnLoses": atWarnLoses,
		"atDebugMayLose": {Level: zapcore.DebugLevel, Loss: diag.MayLose},
		"atWarnMayLose":  {Level: zapcore.WarnLevel, Loss: diag.MayLose}}
	p["linesDropped"] = Message{logx.DroppedEvent, levels["atWarnMayLose"], logx.DroppedText}
	inspect(t, func(file source.File, n ast.Node) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return
		}
		if named(spec.Type) == "Reason" {
			p["reason "+textOf(spec.Values[0])] = Message{}
		}
		name := spec.Names[0].Name
		if lit, ok := spec.Values[0].(*ast.CompositeLit); ok && named(lit.Type) == "Message" {
			level, ok := levels[named(lit.Elts[1])]
			m := Message{textOf(lit.Elts[0]), level, textOf(lit.Elts[2])}
			if p[name] = m; !ok || m.Text == "" || !eventName.MatchString(m.Event) {
				t.Errorf("%s: %+v", name, m)
			}
		}
	}, "internal/journal", "internal/diag", "internal/worker", "internal/machine")
}

var eventName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// addErrors adds what is given to errors.New and fmt.Errorf where the command line is read, the worker is
// started and a verb is run, why a COMMAND can't be run (spawn.explain), and hints.
func (p contents) addErrors(t *testing.T) {
	t.Helper()
	consts := make(map[string]string) // of the function at hand
	add := func(n ast.Expr) {
		if text := shown(textWith(n, consts)); regexp.MustCompile(`[A-Za-z]{3}`).MatchString(text) {
			p["error "+text] = Message{}
		}
	}
	inspect(t, func(_ source.File, n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			owner, f := called(n)
			switch {
			case f == "answer":
				add(n.Args[1])
			case slices.Contains([]string{"NotStarted", "sayf"}, f), owner == "errors", owner == "fmt" &&
				f == "Errorf":
				add(n.Args[0])
			}
		case *ast.ValueSpec:
			if len(n.Values) == 1 {
				consts[n.Names[0].Name] = textWith(n.Values[0], consts)
			}
		case *ast.FuncDecl: // whyNotFound and the like
			consts = make(map[string]string)
			if !strings.HasPrefix(n.Name.Name, "whyNot") {
				return
			}
			ast.Inspect(n, func(n ast.Node) bool {
				if give, ok := n.(*ast.ReturnStmt); ok {
					add(formatOf(give.Results[0]))
				}
				return true
			})
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if name := named(to); (name == "why" || name == "hint") && len(n.Lhs) == len(n.Rhs) {
					add(formatOf(n.Rhs[i]))
				}
			}
		}
	}, "internal/cli", "internal/signals", "internal/health", "internal/spawn", "internal/inspect",
		"internal/rehearse", "internal/logx", "internal/ociruntime", "supervisor")
}

// formatOf is the text, or that of Sprintf.
func formatOf(n ast.Expr) ast.Expr {
	if call, ok := n.(*ast.CallExpr); ok {
		if _, f := called(call); f == "Sprintf" {
			return call.Args[0]
		}
	}
	return n
}

// called is the function or method of a call, and its package or variable.
func called(call *ast.CallExpr) (owner, name string) {
	if f, ok := call.Fun.(*ast.SelectorExpr); ok {
		return named(f.X), f.Sel.Name
	}
	return "", ""
}

// inspect calls see with each node of the product, or of its files in some folders.
func inspect(t *testing.T, see func(file source.File, n ast.Node), dirs ...string) {
	t.Helper()
	seen := make(map[string]bool)
	for _, file := range source.Files(t, "../..") {
		if !file.IsTest && (dirs == nil || slices.Contains(dirs, file.Dir)) {
			seen[file.Dir] = true
			ast.Inspect(file.Tree, func(n ast.Node) bool { see(file, n); return true })
		}
	}
	if len(seen) < max(len(dirs), 1) {
		t.Fatalf("of %q there are files in %v alone", dirs, seen)
	}
}

// named is an identifier's name, "" of anything else.
func named(n ast.Expr) string {
	if id, ok := n.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// textOf is a literal, or what is joined of some and of others, for which … stands.
func textOf(n ast.Expr) string { return textWith(n, nil) }

// textWith is textOf with constants by their names.
func textWith(n ast.Expr, consts map[string]string) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(n.Value)
		return text
	case *ast.Ident:
		return consts[n.Name]
	case *ast.BinaryExpr:
		return cmp.Or(textWith(n.X, consts), "%v") + cmp.Or(textWith(n.Y, consts), "%v")
	}
	return ""
}

var verbs = regexp.MustCompile(`(%[+.\d]*[a-z]|\$[a-z_]+)+`)

// shown is a format as it stands on the page, in a cell of a table, without what goes to the fields alone.
func shown(format string) string {
	if strings.Contains(format, "$") {
		format, _, _ = strings.Cut(format, "|")
	}
	return strings.ReplaceAll(verbs.ReplaceAllString(format, "…"), "|", `\|`)
}

// A drain may last for ever, and any number of orphans come and go in it that wait, or wait and are said to.
func TestNothingIsKeptOfOrphansThatHaveEnded(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	log := logx.New(int(null.Fd()), false, zapcore.InfoLevel)
	j := New(log, machine.New(machine.Config{}), new(worker.Worker), forward.NewHistory(1, false))
	for pid := 2; pid < 3000; pid++ {
		p := proc.Process{ID: proc.ID{PID: pid, Start: 1}, PPID: os.Getpid(), Comm: "orphan"}
		j.Unsignalled(forward.Unsignalled{Processes: []*proc.Process{&p}, Rule: "it cleans up",
			Undecided: pid%2 == 0})
		j.Progress(Living{All: []*proc.Process{&p}})
		j.Note("exited with status 0", proc.ID{PID: pid})
	}
	if n := len(j.said); n != 0 {
		t.Errorf("%d are kept", n)
	}
	log.Close()
}
