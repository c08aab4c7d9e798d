// Package logging tests what drainit says: the log, the warnings and the termination message.
package logging

import (
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
