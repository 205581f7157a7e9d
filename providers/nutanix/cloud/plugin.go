package cloud

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/serve"
)

// Plugin is the provider, to be served.
func Plugin() serve.Plugin {
	var o Options
	return serve.Plugin{
		Name: "nutanix",
		AddFlags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Endpoint, "nutanix-endpoint", "", "URL of Prism Central (default: the key endpoint of the secret with credentials, or else the address and port in spec.platformSpec.nutanix.prismCentral of the Infrastructure)")
		},
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			o.Clock, o.Objects = e.Clock, e.Objects
			return New(o), nil
		},
		Limits: limits,
	}
}

// limits leave room for other clients of Prism Central, which documents no rate of calls. If it throttles,
// the limit adapts.
var limits = decorate.Limits{PerSecond: 20, Burst: 60}
