// Package workers tests real workers, started in all the ways that people start them.
package workers

import (
	"flag"
	"testing"

	"drainit/test/harness"
)

// testsAtOnce are more than in other packages: the workers wait for their jobs most of the time.
const testsAtOnce = "24"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", testsAtOnce) // which the command line may set anew
	harness.Main(m)
}
