package cloud

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/serve"
)

// Plugin is the provider as a program.
func Plugin() serve.Plugin {
	var endpoint, caFile string
	return serve.Plugin{
		Name: name,
		AddFlags: func(fs *pflag.FlagSet) {
			fs.StringVar(&endpoint, "azure-arm-endpoint", "", "URL that replaces the Resource Manager of the cloud in specs and in the cluster: of a simulator, for example. Its metadata names the login endpoint")
			fs.StringVar(&caFile, "azure-ca-file", "", "file of certificates (PEM) that are trusted besides the system's")
		},
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			o := Options{Clock: e.Clock, Objects: e.Objects, Endpoint: endpoint}
			if caFile != "" {
				var err error
				if o.CABundle, err = os.ReadFile(caFile); err != nil {
					return nil, fmt.Errorf("read --azure-ca-file: %w", err)
				}
			}
			return New(o), nil
		},
		// Azure allows a subscription 25 reads and 10 writes a second in a region, and 250 and 200 at once:
		// https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling
		// Finding a machine takes three requests, creating one seven, of which two are writes.
		Limits: decorate.Limits{PerSecond: 8, Burst: 80, Wait: 30 * time.Second, Writes: &decorate.Limits{PerSecond: 4, Burst: 60, Wait: 30 * time.Second}},
	}
}
