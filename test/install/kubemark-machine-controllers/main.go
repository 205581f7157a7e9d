// Command kubemark-machine-controllers is the provider that machine-api-operator runs on the platform kubemark. Its image has
// it under the name machine-controller-manager, as the image of each provider.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
	"github.com/millwright-dev/millwright/serve"
)

func main() {
	if slices.Contains(os.Args, "--programs") {
		fmt.Println("machine-controller-manager") // hack/image reads this
		return
	}
	var c kubemark.Config
	serve.Main(serve.Plugin{
		Name:     "kubemark",
		AddFlags: func(fs *pflag.FlagSet) { c.AddFlags(fs) },
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			c.Target, c.Clock = e.Target, e.Clock
			return kubemark.New(c)
		},
	})
}
