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
		Name: "aws",
		AddFlags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Endpoint, "aws-endpoint", "", "URL that replaces the endpoints of AWS: of a simulator, or of a proxy for all services; Infrastructure and AWS_ENDPOINT_URL_<service> replace single endpoints")
		},
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			o.Clock, o.Objects = e.Clock, e.Objects
			return New(o), nil
		},
		Limits: limits,
	}
}

// limits are those of EC2 for an account in a region, reduced to leave room for other clients: reads have a
// bucket of 100 that is refilled by 20 a second, most changes one of 50 and 5. RunInstances has less: if it
// throttles, the limit adapts.
var limits = decorate.Limits{PerSecond: 20, Burst: 100, Writes: &decorate.Limits{PerSecond: 5, Burst: 20}}
