package program

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"drainit/internal/proc"
)

// IdlesUntil reports whether a process runs a program that does no work and does not end by itself before a
// tick (proc.Ticks), or ever if tick is 0: tail -f, inotifywait -m, cat without a file, and a sleep that is
// long enough.
func IdlesUntil(p *proc.Process, tick uint64) bool {
	name, args := p.Exe, p.Args
	if len(args) == 0 {
		return false
	}
	if slices.Contains(multicall, withoutSuffix(name)) {
		name = commandName(args, 0)
	}
	has := func(short, long string) bool {
		return slices.ContainsFunc(args[1:], func(arg string) bool {
			isShort := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") &&
				strings.ContainsAny(arg, short)
			return isShort || strings.HasPrefix(arg, long)
		})
	}
	switch name {
	case "tail":
		return has("fF", "--follow") && !has("", "--pid") // which waits for another
	case "inotifywait":
		return has("m", "--monitor")
	case "cat":
		return len(args) == 1
	case "sleep":
		seconds := sleepTime(args[1:])
		return math.IsInf(seconds, 1) || tick > 0 && float64(p.Start)+100*seconds > float64(tick)
	}
	return false
}

// sleepTime returns how long sleep(1) sleeps with these arguments, in seconds.
func sleepTime(args []string) (sum float64) {
	units := map[string]float64{"": 1, "s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}
	for _, arg := range args {
		number := strings.TrimRight(arg, "smhd")
		count, _ := strconv.ParseFloat(number, 64) // which reads infinity, too
		sum += count * units[arg[len(number):]]
	}
	return sum
}
