module drainit

go 1.26.0

ignore ./test/node/node_modules // which npm writes while the packages are listed

require (
	github.com/spf13/pflag v1.0.10
	go.uber.org/zap v1.28.0
	golang.org/x/sys v0.49.0
)

require go.uber.org/multierr v1.10.0 // indirect

godebug (
	containermaxprocs=0
	updatemaxprocs=0
)
