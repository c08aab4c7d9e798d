package proc

import (
	"bytes"
	"strconv"
	"strings"
)

// Mapping is a range of drainit's own addresses.
type Mapping struct{ Start, End uintptr }

// FileMappings are those of drainit's memory that show a file as it is: no page of them has
// been written to, so that each can be read from the file again. They are those in the first
// page of smaps: a static program stands at the lowest addresses. The error is that of open(2)
// or read(2).
func FileMappings() ([]Mapping, error) {
	b, err := readSmall("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	return parseSmaps(b), nil
}

// parseSmaps finds them in a /proc/PID/smaps (proc_pid_smaps(5)): a line for a mapping, and
// then one for each of its figures.
func parseSmaps(b []byte) (clean []Mapping) {
	var m Mapping
	ofFile := false
	for line := range bytes.Lines(b) {
		name, rest := cutField(line)
		value, rest := cutField(rest)
		switch {
		case !bytes.HasSuffix(name, []byte(":")):
			var ok bool
			m, ok = parseRange(string(name))
			_, rest = cutField(rest) // the offset
			_, rest = cutField(rest) // the device
			inode, _ := cutField(rest)
			access := string(value)
			ofFile = ok && string(inode) != "0" && (access == "r-xp" || access == "r--p")
		case ofFile && string(name) == "Anonymous:" && string(value) == "0":
			clean = append(clean, m)
		}
	}
	return clean
}

// parseRange reads two addresses with a dash between them.
func parseRange(text string) (m Mapping, ok bool) {
	from, to, _ := strings.Cut(text, "-")
	start, err := strconv.ParseUint(from, 16, 64)
	end, failed := strconv.ParseUint(to, 16, 64)
	return Mapping{uintptr(start), uintptr(end)}, err == nil && failed == nil
}
