package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/reaper"
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
	parent, err := reaper.ReadSeen(1, time.Time{})
	if err != nil || forward.KindOf(parent) != forward.Shell {
		return
	}
	s.log.Warn(fmt.Sprintf("drainit's parent %s is a shell, which passes no signal on, so no stop signal will reach drainit: not the shell form but %s; in a script exec %s",
		byName(parent.Process), entrypoint(s.command()), self()), number("pid", 1), text("comm", parent.Comm))
}

// inspect looks once, when an entrypoint has had its time, at what the worker
// has become.
func (s *supervisor) inspect() {
	if s.gone || s.cfg.Mode == ModeWorker {
		return
	}
	until := time.Now().Add(looking)
	if w, err := reaper.ReadSeen(s.worker, until, unix.SIGTERM); err != nil || !passesNothingOn(w) {
		return // and nearly always without a look at all the others
	}
	if seen, err := reaper.ReadBelow(os.Getpid(), until, unix.SIGTERM); err == nil {
		s.warnWrapped(seen)
	}
}

// warnAtStop warns of a start that would lose jobs under another init, and of
// one that does under any. It goes by what was seen before anybody was told.
func (s *supervisor) warnAtStop(seen []reaper.Seen) {
	i := s.find(seen, s.worker)
	if i < 0 || s.gone {
		return
	}
	s.warnWrapped(seen)
	w := seen[i]
	hasChild := slices.ContainsFunc(seen, func(p reaper.Seen) bool { return p.PPID == w.PID })
	if !hasChild && !w.Catches(s.stopWith) && !w.Ignores(s.stopWith) && forward.KillsByDefault(s.stopWith) {
		name := forward.Name(s.stopWith)
		s.warn(w, fmt.Sprintf("%s does not catch %s, so it dies of it at once and nothing is drained: handle %s in it, or choose a signal that it handles with --rewrite TERM:INT, say",
			byName(w.Process), name, name))
	}
}

func (s *supervisor) find(seen []reaper.Seen, pid int) int {
	return slices.IndexFunc(seen, func(p reaper.Seen) bool { return p.PID == pid })
}

// passesNothingOn reports whether a program keeps a stop signal from those below.
func passesNothingOn(p reaper.Seen) bool {
	switch forward.KindOf(p) {
	case forward.Shell:
		return !p.Catches(unix.SIGTERM)
	case forward.Launcher:
		return !forward.TellsBelow(forward.LauncherName(p))
	}
	return false
}

// warnWrapped is for a worker behind a shell or a launcher.
func (s *supervisor) warnWrapped(seen []reaper.Seen) {
	i := s.find(seen, s.worker)
	if s.warned.wrapped || i < 0 || !passesNothingOn(seen[i]) {
		return
	}
	w := seen[i]
	inner, several := innermost(seen, w)
	if inner.PID == w.PID && !several {
		return // there is nobody behind it
	}
	s.warned.wrapped = true
	behind, command, kind := byName(inner.Process), safeWords(inner), "a "+forward.KindOf(w).String()
	if several {
		behind, command = "those below it", []string{"COMMAND", "ARG"}
	}
	if name := forward.LauncherName(w); name != "" {
		kind += ", " + name + ","
	}
	fix := entrypoint(command)
	if script := scriptOf(w); script != "" {
		fix = fmt.Sprintf("let %s end with exec %s", Printable(script), Printable(strings.Join(command, " ")))
	}
	s.warn(w, fmt.Sprintf("%s is %s that passes no signal on to %s; drainit does that itself, but exec form is better: %s", byName(w.Process), kind, behind, fix))
}

// warnDeaf is for a shell whose trap can't run: it waits for a command first.
func (s *supervisor) warnDeaf() {
	shell, child, ok := s.cascade.Deaf(reaper.Ticks(), deafAfter)
	if s.warned.deaf || !ok {
		return
	}
	s.warned.deaf = true
	command := Printable(strings.Join(safeWords(withProgram(child)), " "))
	s.warn(shell, fmt.Sprintf("%s caught the stop signal, but its trap runs only after %s has ended, which nobody has told: in the script, start it with %s & and then wait $!",
		byName(shell.Process), byName(child.Process), command))
}

func (s *supervisor) warn(p reaper.Seen, msg string) {
	s.log.Warn(msg, s.phase(), number("pid", p.PID), text("comm", p.Comm))
}

// innermost goes down from a shell or a launcher to the one process that does
// the work. several says that the way parts.
func innermost(seen []reaper.Seen, p reaper.Seen) (inner reaper.Seen, several bool) {
	for forward.KindOf(p) != forward.Plain {
		var below []reaper.Seen
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
func withProgram(p reaper.Seen) reaper.Seen {
	if full, err := reaper.ReadSeen(p.PID, time.Time{}); err == nil && full.ID == p.ID {
		p.Exe, p.Args = full.Exe, full.Args
	}
	return p
}

// scriptOf is the file that a shell runs, "" for a command given with -c.
func scriptOf(p reaper.Seen) string {
	if forward.KindOf(p) != forward.Shell {
		return ""
	}
	for _, arg := range p.Args[min(1, len(p.Args)):] {
		switch {
		case strings.HasPrefix(arg, "-") && strings.Contains(arg, "c"):
			return ""
		case !strings.HasPrefix(arg, "-") && filepath.Base(arg) != "sh":
			return filepath.Base(arg)
		}
	}
	return ""
}

// safeWords are a process's command line as far as it may stand in a log: its
// program and the files it names. The other words may be secrets, so "..." stands
// for them.
func safeWords(p reaper.Seen) []string {
	if p.Exe == "" || len(p.Args) == 0 {
		return []string{p.Comm, "..."}
	}
	words := []string{p.Args[0]}
	if strings.ContainsAny(p.Args[0], " \t") || len(p.Args[0]) > namedAtMost*4 {
		words[0] = p.Exe // a title written over the arguments
	}
	return append(words, safeArgs(p.Args[1:], "/proc/"+strconv.Itoa(p.PID)+"/cwd")...)
}

// command is drainit's own COMMAND, as far as it may stand in a log.
func (s *supervisor) command() []string {
	return append([]string{s.cfg.Command[0]}, safeArgs(s.cfg.Command[1:], ".")...)
}

func safeArgs(args []string, dir string) []string {
	var words []string
	for _, arg := range args {
		path := arg
		if !filepath.IsAbs(arg) {
			path = dir + "/" + arg
		}
		info, err := os.Stat(path)
		if strings.HasPrefix(arg, "-") || err != nil || !info.Mode().IsRegular() {
			return append(words, "...")
		}
		words = append(words, arg)
	}
	return words
}

// entrypoint is the exec form of a Dockerfile that runs a command under drainit.
func entrypoint(command []string) string {
	var quoted []string
	for _, word := range append([]string{self(), "--"}, command...) {
		quoted = append(quoted, `"`+Printable(word)+`"`)
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
