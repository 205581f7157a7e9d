// Command box-assets provides the programs of the development control plane, builds them if necessary, and prints their folder:
// KUBEBUILDER_ASSETS=$(go run ./internal/demo/devplane/cmd/box-assets). Progress goes to standard error.
//
// Arguments name the required programs; without arguments, all are required.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	assets, err := devplane.Ensure(ctx, devplane.BuildOptions{Programs: os.Args[1:], Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "box:", err)
		stop()
		os.Exit(1)
	}
	fmt.Println(assets.Dir)
}
