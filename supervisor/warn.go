package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// deafAfter is when a shell that caught the stop signal should have run its
// trap, in ticks of a hundredth of a second.
const deafAfter = 100

// warned is what each start is warned of once, whatever is seen again.
type warned struct{ wrapped, deaf bool }

// warnParent is for a drainit that no stop signal can reach: the platform sends
// it to PID 1, a shell that has drainit as its child. On a terminal somebody may
// have typed it there.
func (s *supervisor) warnParent() {
	if os.Getppid() != 1 || s.tty.exists() {
		return
	}
	parent, err := proc.ReadSeen(1, time.Time{}, unix.SIGTERM)
	if err != nil || forward.KindOf(parent) != forward.Shell || parent.Catches(unix.SIGTERM) {
		return
	}
	s.log.Warn(fmt.Sprintf("drainit's parent %s is a shell, which passes no signal on, so no stop signal will reach drainit: not the shell form but %s; in a script exec %s",
		logx.Name(parent.Process), entrypoint(safeLine(s.cfg.Command)), self()), logx.Number("pid", 1), logx.Text("comm", parent.Comm))
}

// inspect looks once, when an entrypoint has had its time, at what the worker
// has become.
func (s *supervisor) inspect() {
	if s.gone {
		return
	}
	until := time.Now().Add(looking)
	if w, err := proc.ReadSeen(s.worker, until, unix.SIGTERM); err != nil || !passesNothingOn(w) {
		return // and nearly always without a look at all the others
	}
	if seen, err := proc.ReadBelow(os.Getpid(), until, unix.SIGTERM); err == nil {
		s.warnWrapped(seen)
	}
}

// warnAtStop warns of a start that would lose jobs under another init, and of
// one that does under any. It goes by what was seen before anybody was told.
func (s *supervisor) warnAtStop(seen []proc.Seen) {
	i := s.find(seen, s.worker)
	if i < 0 || s.gone {
		return
	}
	s.warnWrapped(seen)
	w := seen[i]
	hasChild := slices.ContainsFunc(seen, func(p proc.Seen) bool { return p.PPID == w.PID })
	if !hasChild && !w.Catches(s.stopWith) && !w.Ignores(s.stopWith) && signals.TerminatesByDefault(s.stopWith) {
		name, other := signals.Name(s.stopWith), "INT"
		if s.stopWith == unix.SIGINT {
			other = "TERM"
		}
		came := strings.TrimPrefix(signals.Name(s.stopSignal), "SIG")
		s.warn(w, fmt.Sprintf("%s does not catch %s, so it dies of it at once and nothing is drained: handle %s in it, or choose a signal that it handles with --rewrite %s:%s, say",
			logx.Name(w.Process), name, name, came, other))
	}
}

func (s *supervisor) find(seen []proc.Seen, pid int) int {
	return slices.IndexFunc(seen, func(p proc.Seen) bool { return p.PID == pid })
}

// passesNothingOn reports whether a program keeps a stop signal from those below.
func passesNothingOn(p proc.Seen) bool {
	switch forward.KindOf(p) {
	case forward.Shell:
		return !p.Catches(unix.SIGTERM)
	case forward.Launcher:
		return !forward.TellsBelow(forward.LauncherName(p))
	}
	return false
}

// warnWrapped is for a worker behind a shell or a launcher.
func (s *supervisor) warnWrapped(seen []proc.Seen) {
	i := s.find(seen, s.worker)
	if s.warned.wrapped || i < 0 || s.tty.lent || !passesNothingOn(seen[i]) {
		return // a shell that has the terminal is there for its own sake
	}
	w := seen[i]
	inner, several := innermost(seen, w)
	if inner.PID == w.PID && !several {
		return // there is nobody behind it
	}
	s.warned.wrapped = true
	behind, command := logx.Name(inner.Process), safeWords(inner)
	if several {
		behind, command = "those below it", []string{"COMMAND", "ARG"}
	}
	s.warn(w, fmt.Sprintf("%s is a %s that does not pass signals on to %s; %s: %s",
		logx.Name(w.Process), kindName(w), behind, s.inPlaceOf(w), execForm(w, command)))
}

func kindName(p proc.Seen) string {
	if name := forward.LauncherName(p); name != "" {
		return "launcher (" + name + ")"
	}
	return forward.KindOf(p).String()
}

// inPlaceOf is what drainit does about a worker that passes nothing on.
func (s *supervisor) inPlaceOf(w proc.Seen) string {
	switch {
	case s.cfg.Mode == ModeWorker:
		return "with --forward worker nobody else will tell it, so leave that out, or use the exec form"
	case w.Ignores(unix.SIGTERM):
		return "it ignores SIGTERM, so nobody will be told; do not ignore it, or use the exec form"
	}
	return "drainit will tell it, but exec form is better"
}

// execForm is how to start a command so that nothing stands before it.
func execForm(wrapper proc.Seen, command []string) string {
	line := logx.Printable(strings.Join(command, " "))
	if forward.LauncherName(wrapper) == "go run" {
		return "go build -o /app, then " + entrypoint([]string{"/app"})
	}
	if script := scriptOf(wrapper); script != "" {
		return fmt.Sprintf("let %s end with exec %s", logx.Printable(script), line)
	}
	return entrypoint(command)
}

// warnDeaf is for a shell whose trap can't run: it waits for a command first.
func (s *supervisor) warnDeaf() {
	if s.warned.deaf {
		return
	}
	for _, d := range s.cascade.Deaf(proc.Ticks(), deafAfter) {
		shell := withProgram(d.Shell)
		if !proc.WaitsInForeground(shell, d.Child.PID) {
			continue
		}
		s.warned.deaf = true
		command := logx.Printable(strings.Join(safeWords(withProgram(d.Child)), " "))
		s.warn(shell, fmt.Sprintf("%s caught the stop signal, but its trap runs only after %s has ended, which nobody has told; in the script: %s & c=$!; trap 'kill $c' TERM; wait $c; wait $c",
			logx.Name(shell.Process), logx.Name(d.Child.Process), command))
		return
	}
}

func (s *supervisor) warn(p proc.Seen, msg string) {
	s.log.Warn(msg, s.phaseField(), logx.Number("pid", p.PID), logx.Text("comm", p.Comm))
}

// innermost goes down from a shell or a launcher to the one process that does
// the work. several says that the way parts.
func innermost(seen []proc.Seen, p proc.Seen) (inner proc.Seen, several bool) {
	for forward.KindOf(p) != forward.Plain {
		var below []proc.Seen
		for _, child := range seen {
			if child.PPID == p.PID {
				below = append(below, child)
			}
		}
		switch len(below) {
		case 0:
			return p, false
		case 1:
			p = withProgram(below[0])
		default:
			return p, true
		}
	}
	return p, false
}

// withProgram reads what runs a process, where the look did not ask for it.
func withProgram(p proc.Seen) proc.Seen {
	if full, err := proc.ReadSeen(p.PID, time.Time{}); err == nil && full.ID == p.ID {
		p.Exe, p.Args = full.Exe, full.Args
	}
	return p
}

// scriptOf is the file that a shell runs, "" where it runs a command (-c) or
// reads its input. What stands before it are options, of which some take a word.
func scriptOf(p proc.Seen) string {
	if forward.KindOf(p) != forward.Shell || len(p.Args) == 0 {
		return ""
	}
	args := p.Args[1:]
	if name := filepath.Base(p.Args[0]); len(args) > 0 && (name == "busybox" || name == "toybox") {
		args = args[1:]
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "-":
		case arg == "--rcfile", arg == "--init-file":
			i++
		case strings.HasPrefix(arg, "--"):
		case arg == "" || arg[0] != '-' && arg[0] != '+':
			return filepath.Base(arg)
		case strings.ContainsAny(arg, "cs"):
			return ""
		case strings.HasSuffix(strings.ToLower(arg), "o"):
			i++
		}
	}
	return ""
}

// safeWords are a process's command line as far as it may stand in a log: its
// program and that program's files. The other words may be secrets, so "..."
// stands for them.
func safeWords(p proc.Seen) []string {
	switch {
	case p.Exe == "" || len(p.Args) == 0:
		return []string{p.Comm, "..."}
	case strings.ContainsAny(p.Args[0], " \t=:"): // a title that it has written over its arguments
		return []string{p.Exe, "..."}
	}
	return safeLine(p.Args)
}

func safeLine(line []string) []string {
	for i, arg := range line {
		script := i == 1 && isInterpreter(line[0]) && !strings.HasPrefix(arg, "-")
		if i > 0 && !script && arg != "-jar" && !isProgramFile(arg) {
			return append(slices.Clone(line[:i]), "...")
		}
	}
	return line
}

func isInterpreter(program string) bool {
	name := strings.TrimRight(filepath.Base(program), "0123456789.")
	return slices.Contains([]string{"node", "nodejs", "bun", "python", "perl", "ruby", "php", "sh", "bash", "dash", "ash"}, name)
}

func isProgramFile(arg string) bool {
	switch strings.TrimPrefix(filepath.Ext(arg), ".") {
	case "js", "mjs", "cjs", "ts", "mts", "py", "rb", "php", "pl", "sh", "jar", "war":
	default:
		return false
	}
	odd := func(r rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-", r)
	}
	return arg[0] != '-' && !strings.ContainsFunc(arg, odd)
}

// entrypoint is the exec form of a Dockerfile that runs a command under drainit.
func entrypoint(command []string) string {
	var quoted []string
	for _, word := range append([]string{self(), "--"}, command...) {
		quoted = append(quoted, `"`+logx.Printable(word)+`"`)
	}
	return "ENTRYPOINT [" + strings.Join(quoted, ", ") + "]"
}

// self is the path of this drainit, to be pasted.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return "/drainit"
	}
	return path
}
