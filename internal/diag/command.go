package diag

import (
	"path/filepath"
	"slices"
	"strings"

	"drainit/forward"
	"drainit/internal/proc"
)

// scriptOf is the file that a shell runs, "" where it runs a command (-c) or
// reads its input. What stands before it are options, of which some take a word.
func scriptOf(p proc.Process) string {
	if forward.ProgramOf(p) != forward.Shell || len(p.Args) == 0 {
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
func safeWords(p proc.Process) []string {
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

// entrypoint is the exec form of a Dockerfile that runs a command under drainit, whose
// path is self.
func entrypoint(self string, command []string) string {
	var quoted []string
	for _, word := range append([]string{self, "--"}, command...) {
		quoted = append(quoted, `"`+word+`"`)
	}
	return "ENTRYPOINT [" + strings.Join(quoted, ", ") + "]"
}
