package cloud

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/serve"
)

const name = "ibmcloud"

// Plugin is the provider, to be served.
func Plugin() serve.Plugin {
	var o Options
	return serve.Plugin{
		Name: name,
		AddFlags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Endpoint, "ibmcloud-endpoint", "", "URL that replaces the endpoints of IBM Cloud, also those in the cluster's Infrastructure: of a simulator, or of a proxy for all services")
		},
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			o.Clock, o.Objects = e.Clock, e.Objects
			return New(o), nil
		},
		Limits: limits,
	}
}

// limits leave room for other clients of the account. IBM Cloud documents no rate of calls; if it throttles,
// the limit adapts.
var limits = decorate.Limits{PerSecond: 10, Burst: 50, Writes: &decorate.Limits{PerSecond: 5, Burst: 20}}
