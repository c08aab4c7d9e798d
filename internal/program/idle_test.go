package program

import (
	"fmt"
	"strings"
	"testing"

	"drainit/internal/proc"
	"drainit/test/harness/rows"
)

// What never ends by itself idles forever, and a sleep until its end.
func TestIdlesUntil(t *testing.T) {
	const start = 1000
	rows.Compare(t, "testdata/idle.tsv", 3, func(row []string) any {
		p := proc.Process{ID: proc.ID{PID: 7, Start: start},
			Details: proc.Details{Exe: row[0], Args: strings.Fields(row[1])}}
		switch until := IdlesUntil(&p); until {
		case 0:
			return ""
		case Forever:
			return "forever"
		default:
			return fmt.Sprint(until - start)
		}
	})
}
