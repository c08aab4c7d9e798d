package program

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"drainit/internal/proc"
)

// Forever is what IdlesUntil returns for a program that never ends by itself.
const Forever = math.MaxUint64

// IdlesUntil returns until which tick (proc.Ticks) a process certainly runs a program that does no work of
// its own: Forever for tail -f, inotifywait -m and sleep infinity, the end of a sleep(1) that has one, and 0
// for any other program.
func IdlesUntil(p *proc.Process) uint64 {
	name, args := calledAs(p)
	has := func(short, long string) bool {
		return slices.ContainsFunc(args, func(arg string) bool {
			isShort := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") &&
				strings.ContainsAny(arg, short)
			return isShort || strings.HasPrefix(arg, long)
		})
	}
	switch {
	case name == "tail" && has("fF", "--follow") && Awaits(p) == 0,
		name == "inotifywait" && has("m", "--monitor") && !has("t", "--timeout"):
		return Forever
	case name == "sleep":
		seconds := sleepTime(args)
		if math.IsInf(seconds, 1) {
			return Forever
		}
		return p.Start + uint64(100*seconds)
	}
	return 0
}

// Awaits returns the process with whose end a tail --pid ends, 0 for any other program.
func Awaits(p *proc.Process) (pid int) {
	name, args := calledAs(p)
	_, after, _ := strings.Cut(strings.Join(args, "="), "--pid=")
	if after, _, _ = strings.Cut(after, "="); name == "tail" {
		pid, _ = strconv.Atoi(after)
	}
	return pid
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
