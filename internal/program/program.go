// Package program tells which program a process runs, as far as that matters to the signals of
// those below it: a shell, a package manager's launcher, or any other.
//
// It owns the names. It must never read anything: it goes by what a snapshot shows.
package program

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Kind is what a process runs.
type Kind uint8

// The kinds.
const (
	Other    Kind = iota // its own business: a worker, a relay, anything not known
	Shell                // without a trap it dies of TERM and signals none; on INT it waits for its child
	Launcher             // a runner of scripts or tasks: of signals it heeds TERM at most
)

var (
	shells             = []string{"sh", "bash", "dash", "ash", "hush", "zsh", "ksh", "ksh93", "mksh", "oksh", "lksh", "yash", "posh", "rbash"}
	shellsWithHandlers = []string{"mksh", "lksh", "oksh", "posh"} // for TERM, without a trap
	shellsWithMarks    = []string{"bash", "rbash", "dash", "busybox", "ksh", "ksh93", "mksh", "lksh", "posh", "yash", "zsh"}

	multicall = []string{"busybox", "toybox"} // one program that is many, by the name it was called
	runtimes  = []string{"node", "nodejs", "bun", "php"}
	launchers = []string{"npm", "npx", "yarn", "yarnpkg", "pnpm", "pnpx", "composer"}
	runners   = []string{"make", "gmake", "task", "go-task"} // by their executable
	keepers   = []string{"composer", "task", "go-task"}      // they handle a stop signal and pass it on to no process
)

// Of tells a shell and a launcher by their executable; where that may not be read, by the name that
// the process bears. Arguments alone prove nothing.
func Of(p *proc.Process) Kind {
	switch {
	case slices.Contains(shells, shellName(p)):
		return Shell
	case LauncherName(p) != "":
		return Launcher
	}
	return Other
}

// shellName is the name under which a shell would run.
func shellName(p *proc.Process) string {
	exe, called := withoutSuffix(p.Exe), commandName(p.Args, 0)
	switch {
	case p.Exe == "":
		return strings.TrimPrefix(p.Comm, "-")
	case !slices.Contains(multicall, exe):
		return exe
	case slices.Contains(multicall, withoutSuffix(called)):
		return commandName(p.Args, 1) // busybox sh
	}
	return called
}

// HandlesWithoutTrap reports whether a process is a shell that handles TERM without any trap, and acts
// upon it only after its child has ended.
func HandlesWithoutTrap(p *proc.Process) bool {
	return slices.Contains(shellsWithHandlers, shellName(p))
}

// MayBeRuntimes reports whether the handler of a process for a signal may be only its runtime's own. Go and the JVM
// write a dump on QUIT; only they handle all of the faults and PIPE. Go handles every signal, and does nothing on
// those that no program uses. PHP's own handlers for INT and QUIT end it, and few scripts drain on these alone.
func MayBeRuntimes(p *proc.Process, sig unix.Signal) bool {
	has := func(all ...unix.Signal) bool { return p.Handled&signals.SetOf(all...) == signals.SetOf(all...) }
	dumps := has(unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGPIPE)
	switch {
	case !p.MasksKnown() || !has(unix.SIGTERM, sig):
		return false
	case sig == unix.SIGQUIT && dumps:
		return true
	case sig == unix.SIGQUIT || sig == unix.SIGINT:
		return withoutVersion(p.Exe) == "php"
	}
	return dumps && (sig == unix.SIGPWR || sig > unix.SIGSYS) && has(unix.SIGSTKFLT, unix.SIGPWR, unix.SIGSYS)
}

// DrainsOn reports whether a process handles a signal by a handler of its own, as far as that can be known: Python and
// Ruby have one for INT, which ends the program, the JVM and Go have one for QUIT.
func DrainsOn(p *proc.Process, sig unix.Signal) bool {
	interrupts := slices.Contains([]string{"python", "ruby", "pypy"}, withoutVersion(p.Exe))
	return p.Handles(sig) && !(sig == unix.SIGINT && interrupts) && !MayBeRuntimes(p, sig)
}

// InBackground reports whether a child bears the mark of a command in the background of a shell that
// its parent is, or was: a shell without job control has it ignore INT and QUIT (POSIX, Asynchronous
// Lists). It may have got a handler for one of them since. A shell ignores QUIT by itself. A child of a
// parent that is marked itself shows nothing.
func InBackground(child, parent *proc.Process) bool {
	quit, int := child.Ignores(unix.SIGQUIT), child.Ignores(unix.SIGINT)
	marked := quit && (int || child.Handles(unix.SIGINT) && Of(child) != Shell) || int && child.Handles(unix.SIGQUIT)
	return marked && !(parent.Ignores(unix.SIGINT) && parent.Ignores(unix.SIGQUIT))
}

// InForeground reports whether a shell without job control waits for a child, so that it runs no trap before
// that has ended. A command in the background ignores INT and QUIT, or has another input: all forms in eight
// shells do, but two in bash. Of ( a ) & ( b ) & in one line, b bears no mark, but a has another input;
// and ( a ) <&0 & bears none. A program that handles QUIT, or sets all signals to their defaults, may hide
// the first mark. The second is not there in zsh, on the left of a pipe, and where another command is in the
// background.
func InForeground(s *proc.Snapshot, child, shell *proc.Process) bool {
	exe := withoutSuffix(shell.Exe)
	if !slices.Contains(shellsWithMarks, exe) || child.PGID != shell.PGID || child.Input != proc.ParentsInput || !child.MasksKnown() ||
		shell.Ignores(unix.SIGINT) || child.Ignores(unix.SIGINT) || child.Ignores(unix.SIGQUIT) && Of(child) != Shell {
		return false
	}
	hidden := child.Handles(unix.SIGQUIT) || isRuntime(child.Exe)
	return !(hidden && (exe == "zsh" || s.IsRead(child.PID))) && !slices.ContainsFunc(s.Children(shell.PID), func(p *proc.Process) bool {
		unlike := p.Input == proc.NullInput || p.Input == proc.UnknownInput
		return unlike && (hidden || !InBackground(p, shell))
	})
}

// Foreground returns what a shell with these children has in its foreground, if it has
// anything: its youngest child, and those of them that write to what one of these reads.
func Foreground(s *proc.Snapshot, children []*proc.Process) (these []*proc.Process) {
	if len(children) == 0 {
		return nil
	}
	these = []*proc.Process{slices.MaxFunc(children, func(a, b *proc.Process) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})}
	for at := 0; at < len(these); at++ {
		for _, p := range children {
			if slices.Contains(s.WritersTo(these[at].PID), p.PID) && !slices.Contains(these, p) {
				these = append(these, p)
			}
		}
	}
	return these
}

// Waiting is whether a shell waits for a command in its foreground: until that has ended it
// runs no trap.
type Waiting uint8

// What can be known of that.
const (
	NotWaiting Waiting = iota
	MayWait            // in the foreground, or in the builtin wait, which a trap interrupts
	Waits
)

// WaitingOf tells by what a shell sleeps in whether it waits for a command. dash and busybox's ash
// sleep in wait4(2) for one in the foreground, and in rt_sigsuspend(2) for the others. bash is in
// wait4 for both, as mksh is in rt_sigsuspend. Where the program or the call can't be read, or the call
// is none of these, as by another architecture's numbers, a shell may wait.
func WaitingOf(p *proc.Process) Waiting {
	exe := withoutSuffix(p.Exe)
	certain := exe == "dash" || exe == "busybox"
	idles := slices.Contains([]int{unix.SYS_RT_SIGSUSPEND, unix.SYS_READ, unix.SYS_PSELECT6}, p.Call.Number)
	switch {
	case !p.Call.Sleeps, idles && (certain || exe == "bash" || exe == "rbash"):
		return NotWaiting
	case certain && p.Call.Number == unix.SYS_WAIT4:
		return Waits
	}
	return MayWait
}

// Nearest returns the first process on each way down from root for which is is true,
// root itself where it is: such a process sees to what is below it.
func Nearest(s *proc.Snapshot, root int, is func(proc.Process) bool) (nearest []proc.Process) {
	p, ok := s.Process(root)
	if ok && is(p) {
		return []proc.Process{p}
	}
	for _, child := range s.Children(root) {
		nearest = append(nearest, Nearest(s, child.PID, is)...)
	}
	return nearest
}

// PassesNothingOn reports whether a process is a launcher that handles a stop signal, and sends it to no
// process below it.
func PassesNothingOn(p *proc.Process) bool { return slices.Contains(keepers, LauncherName(p)) }

// LauncherName is the launcher's own name, "npm" or "go run", and "" for any other program. npm and
// yarn write a title such as "npm start" over their arguments; before, a runtime runs their script.
func LauncherName(p *proc.Process) string {
	switch {
	case p.Exe == "go" && len(p.Args) > 1 && p.Args[1] == "run":
		return "go run"
	case slices.Contains(runners, p.Exe):
		return p.Exe
	case p.Exe != "" && !isRuntime(p.Exe):
		return ""
	}
	title, _, _ := strings.Cut(p.Comm, " ")
	script := slices.IndexFunc(p.Args, func(arg string) bool {
		return !strings.HasPrefix(arg, "-") && !isRuntime(path.Base(arg))
	})
	name, kind, _ := strings.Cut(withoutSuffix(commandName(p.Args, script)), "-") // npm-cli.js, yarn-4.5.0.cjs
	switch {
	case slices.Contains(launchers, title):
		return title
	case slices.Contains(launchers, name) && slices.Contains([]string{"", "cli", "berry"}, strings.Trim(kind, "0123456789")):
		return name
	}
	return ""
}

func isRuntime(file string) bool { return slices.Contains(runtimes, withoutVersion(file)) }

// withoutVersion makes php of php8.2.
func withoutVersion(file string) string { return strings.TrimRight(withoutSuffix(file), "0123456789") }

// withoutSuffix makes busybox of busybox.static and bash of bash.old.
func withoutSuffix(file string) string {
	name, _, _ := strings.Cut(file, ".")
	return name
}

// commandName is the file name of an argument, without a login shell's dash.
func commandName(args []string, i int) string {
	if i < 0 || i >= len(args) {
		return ""
	}
	return strings.TrimPrefix(path.Base(args[i]), "-")
}
