package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"drainit/supervisor"
)

// longest is the longest duration, but for Forever. A longer one was meant otherwise.
const longest = 7 * 24 * time.Hour

// parseGrace reads a grace period: a duration, or "infinity" for supervisor.Forever.
func parseGrace(s string) (time.Duration, error) {
	switch strings.ToLower(s) {
	case "infinity", "inf":
		return supervisor.Forever, nil
	}
	return parseDuration(s, "25s, 25 (seconds), 0 (kill at once) or infinity")
}

// parseDelay reads a duration that can't be infinite, of a stop's delay or a sleep.
func parseDelay(s string) (time.Duration, error) { return parseDuration(s, "5s or 5 (seconds)") }

// parseDuration reads "25s", "1m30s" (time.ParseDuration) in either case or whole seconds,
// from 0 to a week. The error ends with the forms wanted.
func parseDuration(s, want string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.ToLower(s))
	if n, nerr := strconv.ParseUint(s, 10, 64); nerr == nil {
		d, err = time.Duration(min(n, uint64(longest/time.Second)+1))*time.Second, nil
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("invalid duration %q: want %s", s, want)
	}
	if d > longest {
		return 0, fmt.Errorf("%q is more than a week (milliseconds meant?): want %s", s, want)
	}
	return d, nil
}
