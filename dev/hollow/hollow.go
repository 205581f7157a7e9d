package hollow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// restartDelay is how long a node waits after its kubelet failed (an expired token, a CSR that was not
// approved) before it starts again, as a service manager would do on a real machine.
const restartDelay = 10 * time.Second

// Main runs a hollow node with the process's arguments until SIGTERM or SIGINT, and returns the exit code: 0
// after a signal, 2 for an invalid command line. When the kubelet fails, the process executes itself again:
// it keeps its process ID, by which its owner identifies it.
func Main() int {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hollow:", err)
		return 2
	}
	outliveStarter()
	saveMemory()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	defer klog.Flush()

	err = run(ctx, o)
	if ctx.Err() != nil {
		return 0
	}
	klog.ErrorS(err, "Kubelet ended, starting over", "node", o.name, "delay", restartDelay)
	return startOver(ctx)
}

// outliveStarter lets the node run on after the process that started it has ended: the hang-up of its
// terminal does not end it, nor does a log without a reader.
func outliveStarter() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
}

// saveMemory trades CPU, of which an idle node uses next to none, for memory, of which a hundred nodes use a lot.
// GOGC in the environment takes precedence.
func saveMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

func startOver(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case <-time.After(restartDelay):
	}
	klog.Flush()
	executable, err := os.Executable()
	if err == nil {
		err = syscall.Exec(executable, os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "hollow: starting over:", err)
	return 1
}
